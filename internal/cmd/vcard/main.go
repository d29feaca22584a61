// Command vcard is the provider's command-line tool. It serves the sandbox, and shows what a Terraform plan does to the
// wallet.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/vcard/terraform-provider-vcard/internal/buildinfo"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
)

// version is set by the build.
var version string

const usage = `Usage: vcard COMMAND

Commands:
  sandbox    serve the card service from a local file, to try things out
  statement  show what a Terraform plan does to the wallet
  version    print the version
  help       print this help, or the help of a command: vcard help sandbox

"vcard sandbox --help" and "vcard statement --help" list flags, examples and exit statuses.

Exit status:
  0  success
  1  failure
  2  invalid command, flags or arguments
  3  the plan breaks a rule (vcard statement only)
`

const (
	exitOK    = 0
	exitUsage = 2
)

func main() {
	defer crash.ExitOnPanic()
	// net/http logs the start of an unexpected response, which may contain a secret.
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		_, _ = fmt.Fprint(os.Stderr, usage)
		return exitUsage
	}
	name := args[0]
	rest := args[1:]
	if isHelp(name) {
		if len(rest) > 0 && !isHelp(rest[0]) { // "vcard help help" prints the usage below
			return run([]string{rest[0], "--help"})
		}
		_, _ = fmt.Fprint(os.Stdout, usage)
		return exitOK
	}
	switch name {
	case "sandbox":
		return runSandbox(rest)
	case "statement":
		return statement.Main(rest, os.Stdin, os.Stdout, os.Stderr)
	case "version", "--version":
		_, _ = fmt.Fprintln(os.Stdout, "vcard", buildinfo.Version(version))
		return exitOK
	default:
		_, _ = fmt.Fprintf(os.Stderr, "vcard: unknown command %q\n\n%s", name, usage)
		return exitUsage
	}
}

func isHelp(name string) bool { return name == "help" || name == "--help" || name == "-h" }

// runSandbox runs "vcard sandbox". The first signal stops it gracefully, and a second one kills the process.
func runSandbox(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	return command.Main(ctx, args, os.Getenv, os.Stdout, os.Stderr)
}
