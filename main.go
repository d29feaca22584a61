// Command terraform-provider-vcard is the Terraform provider for virtual payment cards.
// By hand it is called vcard: its sub-commands are the service to try the provider on,
// and what a plan costs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
	"github.com/vcard/terraform-provider-vcard/internal/statement"
)

const name = "vcard"

// version is set by the build.
var version string

const usage = `Usage: ` + name + ` COMMAND

Commands:
  sandbox    serve the whole card service from a local file, to try things on;
             sandbox --help has its flags
  statement  say what a plan does to the wallet; statement --help has its flags

Flags:
  -debug     run for a debugger such as delve; prints how a CLI finds it
  -version   print the version
  -help      print this

The same program, as terraform-provider-vcard, is the provider vcard/vcard of
Terraform and OpenTofu, which start it themselves.
`

// pluginCookie is in the environment of a provider that a CLI has started.
const pluginCookie = "TF_PLUGIN_MAGIC_COOKIE"

const (
	exitOK = iota
	exitFailed
	exitUsage
)

func main() {
	defer crash.End()
	// net/http quotes what it could not make sense of, be it a card number.
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(arguments []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	debugged := flags.Bool("debug", false, "")
	asksVersion := flags.Bool("version", false, "")
	err := flags.Parse(arguments)
	refuse := func(why string) int {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n\n%s", name, why, usage)
		return exitUsage
	}
	switch word := flags.Arg(0); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprint(stdout, usage)
		return exitOK
	case err != nil:
		return refuse(err.Error())
	case *asksVersion:
		_, _ = fmt.Fprintln(stdout, name, buildVersion())
		return exitOK
	case word == "sandbox":
		return serveSandbox(flags.Args()[1:], stdout, stderr)
	case word == "statement":
		return statement.Main(flags.Args()[1:], os.Stdin, stdout, stderr)
	case word != "":
		return refuse(fmt.Sprintf("there is no command %q", word))
	case *debugged:
		err = provider.ServeDebugger(buildVersion())
	case os.Getenv(pluginCookie) == "":
		return refuse("this is the provider vcard/vcard, which terraform and tofu start themselves; by hand it needs a command")
	default:
		err = provider.Serve(buildVersion())
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailed
	}
	return exitOK
}

func serveSandbox(arguments []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return command.Main(ctx, arguments, stdout, stderr)
}

// buildVersion is the version that the build has set, else the module's when it
// was installed as one.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case version != "":
		return version
	case ok && strings.HasPrefix(info.Main.Version, "v"):
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "dev"
}
