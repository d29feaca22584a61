// Package crash makes errors of panics. The runtime prints a panic's value, which
// may hold a secret, to the terminal of whoever runs the program.
package crash

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Error is a panic: of which type its value was, and where it came from. The value
// itself is not kept.
type Error struct {
	Type  string
	Stack string // functions and lines, without their arguments
}

// Error asks for a report.
func (e *Error) Error() string {
	return "a bug of this program stopped the operation (panic with a " + e.Type + "); please report it with these lines:\n" + e.Stack
}

// Catch is deferred, and makes a panic the error of its function.
func Catch(err *error) {
	if reason := recover(); reason != nil {
		*err = New(reason)
	}
}

// End is deferred where nobody could be told of an error, and ends the program as a panic does.
func End() {
	if reason := recover(); reason != nil {
		_, _ = fmt.Fprintln(os.Stderr, New(reason))
		os.Exit(1) //nolint:revive // to panic again would print the value
	}
}

// New is the error of a panic with this value, from where it is recovered.
func New(reason any) *Error {
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	var stack strings.Builder
	for {
		frame, more := frames.Next()
		fmt.Fprintf(&stack, "  %s\n    %s:%d\n", frame.Function, frame.File, frame.Line)
		if !more {
			return &Error{Type: fmt.Sprintf("%T", reason), Stack: strings.TrimRight(stack.String(), "\n")}
		}
	}
}
