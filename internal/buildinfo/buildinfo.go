// Package buildinfo reports which version of a program is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns the version of the program, without a leading "v". That is the linked version, which the build of a
// release sets. Otherwise it is the module version that the go command recorded, for example with "go install". Without
// either, Version returns "dev".
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
