package crash_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// A goroutine that panics ends the program. The output names the function, but does not contain the panic's value.
func TestExitOnPanic(t *testing.T) {
	t.Parallel()
	const planted = "4111111111111111"
	if os.Getenv("CRASH_TEST") != "" {
		go func() {
			defer crash.ExitOnPanic()
			panic(errors.New(planted))
		}()
		select {}
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestExitOnPanic$")
	command.Env = append(os.Environ(), "CRASH_TEST=1")
	output, err := command.CombinedOutput()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit status 1", err)
	}
	text := string(output)
	if !strings.Contains(text, "crash_test.TestExitOnPanic") {
		t.Errorf("the output does not name the function: %s", text)
	}
	if strings.Contains(text, planted) {
		t.Errorf("the output contains the panic's value: %s", text)
	}
}
