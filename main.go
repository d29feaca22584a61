// Command terraform-provider-vcard is the Terraform provider for virtual
// payment cards and, as its sandbox sub-command, the service to try it on.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/command"
)

// version is set by the release build.
var version = "dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sandbox" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := command.Main(ctx, os.Args[2:], os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	debug := flag.Bool("debug", false, "run for a debugger such as delve")
	flag.Parse()
	serve := provider.Serve
	if *debug {
		serve = provider.ServeDebugger
	}
	if err := serve(version); err != nil {
		log.Fatal(err)
	}
}
