// Package buildinfo reports which version of a program is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns the version of the program, without a leading "v". The build of a release sets the linked version. If
// it is empty, Version returns the module version that the go command recorded, for example with "go install". If there
// is none, Version returns "dev".
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
