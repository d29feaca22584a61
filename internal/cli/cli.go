// Package cli contains code that the vcard commands share.
package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// ExplainSingleDash replaces pflag's error about an unknown short flag, and returns any other error unchanged. The flag
// is probably a long one with a single dash: pflag reads "-format" as the short flags -f, -o, -r and so on. The
// example is a valid flag of the command, such as "--format json".
func ExplainSingleDash(err error, example string) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if ok && unknown.GetSpecifiedShortnames() != "" {
		return errors.New("flags start with two dashes: " + example)
	}
	return err
}
