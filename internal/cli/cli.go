// Package cli contains code that the vcard commands share.
package cli

import (
	"errors"
	"strings"
)

// ExplainSingleDash replaces pflag's misleading error for a long flag with a single dash, and returns any other error
// unchanged. pflag reads "-format" as the short flags -f, -o, -r and so on. The example is a valid flag of the command,
// such as "--format json".
func ExplainSingleDash(err error, example string) error {
	if strings.HasPrefix(err.Error(), "unknown shorthand flag") {
		return errors.New("flags start with two dashes: " + example)
	}
	return err
}
