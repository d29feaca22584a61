// Command terraform-provider-vcard is the provider plugin vcard/vcard, which Terraform and
// OpenTofu start themselves. The command-line tool is internal/cmd/vcard.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/vcard/terraform-provider-vcard/internal/buildinfo"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

const name = "terraform-provider-vcard"

// version is set by the build.
var version string

const about = name + ` is the provider vcard/vcard, which terraform and tofu start themselves.
The command-line tool is vcard: run "vcard help".
`

// pluginCookie is an environment variable that a CLI sets when it starts a provider.
const pluginCookie = "TF_PLUGIN_MAGIC_COOKIE"

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	defer crash.ExitOnPanic()
	// net/http logs the start of an unexpected response, which may contain a card number.
	log.SetOutput(io.Discard)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintf(stderr, "%s\nFlags:\n", about)
		flags.PrintDefaults()
	}
	debugging := flags.Bool("debug", false,
		"start without a CLI, for example under delve, and print the variable TF_REATTACH_PROVIDERS, which a CLI needs to attach")
	printVersion := flags.Bool("version", false, "print the version")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	if *printVersion {
		_, _ = fmt.Fprintln(stdout, name, buildinfo.Version(version))
		return exitOK
	}
	startedByCLI := os.Getenv(pluginCookie) != ""
	mayServe := startedByCLI || *debugging
	if flags.NArg() > 0 || !mayServe {
		_, _ = fmt.Fprint(stderr, about)
		return exitUsage
	}
	serve := provider.Serve
	if *debugging {
		serve = provider.ServeDebugger
	}
	err = serve(buildinfo.Version(version))
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailed
	}
	return exitOK
}
