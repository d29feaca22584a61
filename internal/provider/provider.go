// Package provider implements the configuration and the protocol server of the vcard provider.
package provider

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"google.golang.org/grpc/grpclog"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/bins"
	"github.com/vcard/terraform-provider-vcard/internal/card"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/webhook"
)

// Address is the full source address of the provider: the host of the registry, the namespace and the name.
const Address = "registry.terraform.io/vcard/vcard"

type vcardProvider struct {
	version   string
	runID     string          // identifies this process in the user agent of its requests
	clock     ratelimit.Clock // nil for the real clock
	getenv    func(string) string
	sandboxes *sandboxes
	session   *atomic.Pointer[session.Session] // the session of the last successful configuration
}

var (
	_ provider.ProviderWithActions            = (*vcardProvider)(nil)
	_ provider.ProviderWithEphemeralResources = (*vcardProvider)(nil)
	_ provider.ProviderWithFunctions          = (*vcardProvider)(nil)
	_ provider.ProviderWithListResources      = (*vcardProvider)(nil)
	_ provider.ProviderWithValidateConfig     = (*vcardProvider)(nil)
)

// Option changes how a provider runs.
type Option func(*vcardProvider)

// WithClock replaces the clock by which the client tells the time and waits.
func WithClock(clock ratelimit.Clock) Option {
	return func(p *vcardProvider) { p.clock = clock }
}

// WithEnvironment replaces the lookup of environment variables.
func WithEnvironment(getenv func(string) string) Option {
	return func(p *vcardProvider) { p.getenv = getenv }
}

// New returns a factory of providers that report this version.
func New(version string, options ...Option) func() provider.Provider {
	return func() provider.Provider { return newProvider(version, options...) }
}

func newProvider(version string, options ...Option) *vcardProvider {
	p := &vcardProvider{
		version:   version,
		runID:     uuid.NewString()[:8], // short, but unlikely to repeat
		getenv:    os.Getenv,
		sandboxes: new(sandboxes),
		session:   new(atomic.Pointer[session.Session]),
	}
	for _, option := range options {
		option(p)
	}
	return p
}

// NewServer returns a factory of protocol servers that report this version. Each server is an [io.Closer]. Closing one
// closes the embedded sandboxes of all servers of the factory.
func NewServer(version string, options ...Option) func() tfprotov6.ProviderServer {
	return newProvider(version, options...).newServer
}

// newServer returns a server with a session of its own. All servers of p share its sandboxes.
func (p *vcardProvider) newServer() tfprotov6.ProviderServer {
	instance := *p
	instance.session = new(atomic.Pointer[session.Session])
	newFramework := providerserver.NewProtocol6(&instance)
	inner, ok := newFramework().(framework)
	if !ok {
		panic("the framework does not serve list resources or actions")
	}
	return server{framework: inner, session: instance.session, sandboxes: instance.sandboxes}
}

func (p *vcardProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "vcard"
	resp.Version = p.version
}

func (p *vcardProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Issues, funds, freezes and terminates virtual payment cards for ad spend, and shows " +
			"every dollar in the plan. " +
			"Configure an account of the service (`api_key` and `base_url`) or the embedded `sandbox`, which needs no " +
			"account and no network.",
		Attributes: configAttributes(),
	}
}

// ValidateConfig checks the account or the sandbox of a configuration that is fully known.
func (p *vcardProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	var c config
	resp.Diagnostics.Append(req.Config.Get(ctx, &c)...)
	if !resp.Diagnostics.HasError() && req.Config.Raw.IsFullyKnown() {
		sandboxPath := c.fillFromEnvironment(p.getenv)
		resp.Diagnostics.Append(c.check(sandboxPath))
	}
}

func (p *vcardProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var c config
	resp.Diagnostics.Append(req.Config.Get(ctx, &c)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var s *session.Session
	if req.Config.Raw.IsFullyKnown() {
		var diags diag.Diagnostics
		s, diags = p.connect(ctx, c, req.TerraformVersion)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
	} else {
		s = session.New(nil) // there is no client until the configuration is fully known
	}
	s.MaxCardLoad = c.MaxCardLoad.Pointer()
	s.MaxTakenPerPlan = c.MaxTakenPerPlan.Pointer()
	s.WalletCheck = session.WalletCheck(c.WalletCheck.ValueString()) // without a value, the session warns
	prefix := c.LabelPrefix.ValueString()
	if prefix != "" {
		s.LabelPrefix = prefix
	}
	p.session.Store(s)
	resp.ResourceData = s
	resp.DataSourceData = s
	resp.EphemeralResourceData = s
	resp.ActionData = s
	resp.ListResourceData = s
}

// connect returns a session with the service of a known configuration. After an error, the session has no client.
func (p *vcardProvider) connect(ctx context.Context, c config, terraformVersion string) (*session.Session, diag.Diagnostics) {
	sandboxPath := c.fillFromEnvironment(p.getenv)
	client, embedded, diags := c.newClient(ctx, sandboxPath, api.Config{
		UserAgent:  "terraform-provider-vcard/" + p.version + " Terraform/" + terraformVersion + " run/" + p.runID,
		Clock:      p.clock,
		Observe:    logExchange,
		MaxRetries: transport.DefaultMaxRetries,
	})
	s := session.New(client)
	if embedded != nil {
		p.sandboxes.keep(embedded)
		s.Sandbox = &session.Sandbox{Path: embedded.Path(), Created: embedded.Created()}
	}
	return s, diags
}

// logExchange logs an attempt to send a request. It logs no body, query or header, because they may contain secrets.
func logExchange(ctx context.Context, x transport.Exchange) {
	tflog.Debug(ctx, "service call", map[string]any{
		"method":  x.Method,
		"path":    x.Path,
		"status":  x.Status,
		"attempt": x.Attempt,
		"waited":  x.Waited.String(),
		"took":    x.Took.String(),
	})
}

func (p *vcardProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{card.NewResource, webhook.NewResource}
}

func (p *vcardProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		bins.NewDataSource,
		card.NewDataSource,
		card.NewListDataSource,
		transaction.NewDataSource,
		wallet.NewAddressesDataSource,
		wallet.NewBalanceDataSource,
	}
}

func (p *vcardProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{card.NewEphemeralDetails, threeds.NewChallenges}
}

func (p *vcardProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{card.NewListResource}
}

func (p *vcardProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{card.NewFundAction, card.NewWithdrawAction, card.NewFreezeAction, card.NewUnfreezeAction}
}

func (p *vcardProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newIssuanceCost}
}

// Serve serves a provider of this version to the CLI that started this process, until the CLI stops it.
func Serve(version string) error {
	silenceSDK()
	tuneGarbageCollection()
	// For example, systemd may send SIGTERM to the CLI and to the provider. The CLI waits for the calls that are running
	// before it stops the provider, so the provider must not stop on its own.
	signal.Ignore(syscall.SIGTERM)
	go exitWithParent(os.Getppid())
	return serve(version)
}

// exitWithParent exits when the parent process has ended, because a killed CLI does not stop its providers. It has no
// effect on Windows, where a process keeps the id of its parent.
func exitWithParent(parent int) {
	for range time.Tick(time.Second) {
		current := os.Getppid()
		if current > 0 && current != parent { // on Windows, Getppid may fail and return -1
			os.Exit(1) //nolint:revive // no caller is left to return an error to
		}
	}
}

// ServeDebugger serves a provider of this version under a debugger such as delve. It prints how a CLI attaches to the
// provider, and stops at an interrupt.
func ServeDebugger(version string) error {
	return serve(version, tf6server.WithManagedDebug())
}

// serve serves a provider of this version until it is asked to stop. It closes the sandboxes before it returns, so that
// their files are complete. Closing must be quick, because the CLI soon kills a provider that it has asked to stop.
func serve(version string, options ...tf6server.ServeOpt) error {
	keepSecretsFromSDK()
	p := newProvider(version)
	serveErr := tf6server.Serve(Address, p.newServer, options...)
	closeErr := p.sandboxes.close()
	return errors.Join(serveErr, closeErr)
}

// keepSecretsFromSDK stops the SDK from writing values to files, and gRPC from logging, whatever the environment asks
// for.
func keepSecretsFromSDK() {
	_ = os.Unsetenv("TF_LOG_SDK_PROTO_DATA_DIR")
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}

// silenceSDK turns the SDK's loggers off unless the user asked for a log. The CLI would discard the lines, and writing
// them is slow.
func silenceSDK() {
	if slices.ContainsFunc(os.Environ(), asksForLog) {
		return
	}
	for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
		_ = os.Setenv(logger, "OFF")
	}
}

// asksForLog reports whether an environment variable, such as "TF_LOG=INFO", may ask for a log of the provider.
func asksForLog(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	if value == "" {
		return false
	}
	if name == "TF_LOG" {
		return true
	}
	return strings.HasPrefix(name, "TF_LOG_PROVIDER") || strings.HasPrefix(name, "TF_LOG_SDK")
}

const (
	// gcPercent lets the heap grow to five times the live data.
	gcPercent = 400
	// softMemoryLimit is the memory use, in bytes, from which garbage is collected more often.
	softMemoryLimit = 48 << 20
)

// tuneGarbageCollection trades memory for speed, up to a limit. GOGC and GOMEMLIMIT take precedence.
func tuneGarbageCollection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemoryLimit)
	}
}
