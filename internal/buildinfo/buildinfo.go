// Package buildinfo reports which version of a program is running.
package buildinfo

import (
	"runtime/debug"
	"strings"
)

// Version returns the version that the linker has set. In a program that "go install" has built, it returns the
// version of the module; in any other program, "dev".
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
