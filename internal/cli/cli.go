// Package cli contains code that the vcard commands share.
package cli

import (
	"errors"
	"strings"
)

// ExplainSingleDash replaces pflag's error about an unknown short flag, and returns another error unchanged. The flag
// is probably a long one with a single dash: pflag reads "-format" as the short flags -f, -o, -r and so on. The
// example is a valid flag of the command, such as "--format json".
func ExplainSingleDash(err error, example string) error {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag") {
		return errors.New("flags start with two dashes: " + example)
	}
	return err
}
