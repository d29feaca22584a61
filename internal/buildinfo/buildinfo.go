// Package buildinfo reports which version of a program is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns linked, the version that the linker has set, unless it is empty. Otherwise it returns the version of
// the main module without the "v", as the go command recorded it, or "dev" if there is none.
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
