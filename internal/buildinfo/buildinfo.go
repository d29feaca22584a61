// Package buildinfo reports which version of a program is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns linked, the version that the linker set. If linked is empty, Version returns the version of the main
// module that the go command recorded, without its "v", or "dev" if there is none.
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if ok && strings.HasPrefix(info.Main.Version, "v") {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "dev"
}
