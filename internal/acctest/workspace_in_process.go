package acctest

import (
	"context"
	"encoding/json"
	"io"
	"net"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// ServeProvider starts a provider in this process, and returns the variable by
// which a CLI finds it. To stop it cuts the CLI off, as the death of a provider does.
func ServeProvider(t T, options ...provider.Option) (variable string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	configs, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	server := provider.NewServer("test", options...)()
	go func() {
		err := tf6server.Serve("vcard/vcard", func() tfprotov6.ProviderServer { return server }, tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithLoggingSink(t))
		if err != nil {
			t.Error(err)
		}
	}()
	config := <-configs
	// A CLI that found nobody listening where its provider was would kill this process.
	front := sandboxtest.Listen(t, func(from net.Conn) { connect(t.Context(), from, config.Addr) })
	host := "registry.terraform.io"
	if OpenTofu() {
		host = "registry.opentofu.org"
	}
	reattach, err := json.Marshal(map[string]any{host + "/vcard/vcard": map[string]any{
		"Protocol": string(config.Protocol), "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": true,
		"Addr": map[string]string{"Network": front.Network(), "String": front.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "TF_REATTACH_PROVIDERS=" + string(reattach), func() {
		cancel()
		<-closed
		if closer, ok := server.(io.Closer); ok {
			_ = closer.Close()
		}
	}
}

// connect ends when either side does.
func connect(ctx context.Context, from net.Conn, to net.Addr) {
	defer func() { _ = from.Close() }()
	end, err := new(net.Dialer).DialContext(ctx, to.Network(), to.String())
	if err != nil {
		return // it was stopped
	}
	go func() {
		_, _ = io.Copy(end, from)
		_ = end.Close()
	}()
	_, _ = io.Copy(from, end)
}
