// Package crash reports panics without their values, which may be secrets. The runtime would print a value to the
// terminal.
package crash

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Error describes a panic by the type of its value and by its stack. It does not keep the value.
type Error struct {
	Type  string // the Go type of the panic's value
	Stack string // functions and lines, without arguments
}

// Error asks the user to report the bug.
func (e *Error) Error() string {
	return "a bug in this program stopped the operation (panic of type " + e.Type + "). Please report the bug with these lines:\n" + e.Stack
}

// Catch sets *err if the function that defers it panics. Otherwise it leaves *err as it is.
func Catch(err *error) {
	if reason := recover(); reason != nil {
		*err = New(reason)
	}
}

// ExitOnPanic reports a panic on standard error, without its value, and exits with status 1. Defer it in functions that
// cannot return an error, such as main and the function of a goroutine.
func ExitOnPanic() {
	if reason := recover(); reason != nil {
		_, _ = fmt.Fprintln(os.Stderr, New(reason))
		os.Exit(1) //nolint:revive // to panic again would print the value
	}
}

// New returns the error for a recovered value. Call it directly from the deferred function, because it leaves that
// function out of the stack.
func New(reason any) *Error {
	const (
		maxDepth = 32
		skipped  = 3 // runtime.Callers, New and the deferred function
	)
	callers := make([]uintptr, maxDepth)
	depth := runtime.Callers(skipped, callers)
	frames := runtime.CallersFrames(callers[:depth])
	var lines []string
	for {
		frame, more := frames.Next()
		lines = append(lines, fmt.Sprintf("  %s\n    %s:%d", frame.Function, frame.File, frame.Line))
		if !more {
			break
		}
	}
	return &Error{
		Type:  fmt.Sprintf("%T", reason),
		Stack: strings.Join(lines, "\n"),
	}
}
