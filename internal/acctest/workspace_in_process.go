package acctest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

// InProcess makes the CLI talk to a provider in this process, a new one for each
// command, on a clock that skips waits.
func (w *Workspace) InProcess(t *testing.T) *Workspace {
	t.Helper()
	w.inProcess = t
	return w
}

// On makes the providers in this process share a clock, as a service may that
// StartOn started.
func (w *Workspace) On(clock *Clock) *Workspace {
	w.clock = clock
	return w
}

// serve starts a provider that ends with the test, and returns how the CLI finds it.
func (w *Workspace) serve() string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	clock := w.clock
	if clock == nil {
		clock = new(Clock)
	}
	go func() {
		err := tf6server.Serve("vcard/vcard", func() tfprotov6.ProviderServer {
			return provider.NewServer("test", provider.WithClock(clock))()
		}, tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithLoggingSink(w.inProcess))
		if err != nil {
			w.t.Error(err)
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-closed
	})
	config := <-configs
	host := "registry.terraform.io"
	if OpenTofu() {
		host = "registry.opentofu.org"
	}
	reattach, err := json.Marshal(map[string]any{host + "/vcard/vcard": map[string]any{
		"Protocol": string(config.Protocol), "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": true,
		"Addr": map[string]string{"Network": config.Addr.Network(), "String": config.Addr.String()},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(reattach)
}
