// Package buildinfo tells which version of the programs is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns the version that the linker has set or, in a program that "go install" has
// built, the version of its module.
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
