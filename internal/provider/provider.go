// Package provider configures the vcard provider and registers what it has.
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

// Address is where Terraform and OpenTofu registries list the provider.
const Address = "registry.terraform.io/vcard/vcard"

type vcardProvider struct {
	version   string
	run       string // tells the requests of this process from those of others
	clock     ratelimit.Clock
	getenv    func(string) string
	sandboxes *sandboxes
	session   *atomic.Pointer[session.Session] // the configured one
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

// WithClock lets a test decide how long the client's waits take.
func WithClock(clock ratelimit.Clock) Option {
	return func(p *vcardProvider) { p.clock = clock }
}

// WithEnvironment lets a test say what the variables of the environment are.
func WithEnvironment(getenv func(string) string) Option {
	return func(p *vcardProvider) { p.getenv = getenv }
}

// New returns what makes a provider of this version ("dev" outside releases).
func New(version string, options ...Option) func() provider.Provider {
	return func() provider.Provider { return newProvider(version, options) }
}

func newProvider(version string, options []Option) *vcardProvider {
	p := &vcardProvider{version: version, run: uuid.NewString()[:8], getenv: os.Getenv, sandboxes: new(sandboxes), session: new(atomic.Pointer[session.Session])}
	for _, option := range options {
		option(p)
	}
	return p
}

// NewServer returns what makes a protocol server of this version, which is an [io.Closer].
func NewServer(version string, options ...Option) func() tfprotov6.ProviderServer {
	return newProvider(version, options).newServer
}

func (p *vcardProvider) newServer() tfprotov6.ProviderServer {
	served := *p
	served.session = new(atomic.Pointer[session.Session])
	inner, ok := providerserver.NewProtocol6(&served)().(framework)
	if !ok {
		panic("the framework serves no list resources or no actions")
	}
	return server{inner, served.session, served.sandboxes}
}

func (p *vcardProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "vcard"
	resp.Version = p.version
}

func (p *vcardProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Issue, fund, freeze and terminate virtual payment cards for ad spend, with every dollar in the plan. " +
			"Configure an account of the service (`api_key` and `base_url`) or the embedded `sandbox`, which needs no account and no network.",
		Attributes: configAttributes(),
	}
}

// ValidateConfig refuses what no service could be reached by, ahead of every plan.
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
	s := session.New(nil)
	if req.Config.Raw.IsFullyKnown() {
		sandboxPath := c.fillFromEnvironment(p.getenv)
		client, service, diags := c.connect(ctx, sandboxPath, api.Config{
			UserAgent:  "terraform-provider-vcard/" + p.version + " Terraform/" + req.TerraformVersion + " run/" + p.run,
			Clock:      p.clock,
			Observe:    logExchange,
			MaxRetries: transport.DefaultMaxRetries,
		})
		p.sandboxes.keep(service)
		resp.Diagnostics.Append(diags...)
		if resp.Diagnostics.HasError() {
			return
		}
		s = session.New(client)
		if service != nil {
			s.Sandbox = &session.Sandbox{Path: service.Path(), Created: service.Created()}
		}
	}
	s.MaxCardLoad, s.MaxTakenPerPlan = c.MaxCardLoad.Pointer(), c.MaxTakenPerPlan.Pointer()
	s.WalletCheck = session.WalletCheck(c.WalletCheck.ValueString())
	if prefix := c.LabelPrefix.ValueString(); prefix != "" {
		s.LabelPrefix = prefix
	}
	p.session.Store(s)
	resp.ResourceData, resp.DataSourceData = s, s
	resp.EphemeralResourceData, resp.ActionData, resp.ListResourceData = s, s, s
}

// logExchange is the one place where calls are logged: what was asked and how
// it went, never a body, a query or a header.
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

// Serve serves a provider of this version ("dev" outside releases) to the CLI
// that has started this process, until the CLI ends it.
func Serve(version string) error {
	quietSDK()
	tuneGarbageCollection()
	// timeout(1) and systemd send it to the CLI and the provider. The CLI follows it, and
	// waits for what the provider has sent.
	signal.Ignore(syscall.SIGTERM)
	go endWith(os.Getppid())
	return serve(version)
}

// endWith ends this process after its parent, which tells nothing when it is killed.
func endWith(parent int) {
	for range time.Tick(time.Second) {
		if now := os.Getppid(); now > 0 && now != parent { // it is -1 where Windows cannot tell
			os.Exit(1) //nolint:revive // nobody is left to take an error
		}
	}
}

// ServeDebugger serves a provider of this version that a debugger such as delve
// runs: it says how a CLI finds it, and ends with an interrupt.
func ServeDebugger(version string) error {
	return serve(version, tf6server.WithManagedDebug())
}

// serve ends with the sandboxes closed, so that their files hold everything. The
// CLI kills a provider two seconds after it asked it to end.
func serve(version string, options ...tf6server.ServeOpt) error {
	keepSecretsFromSDK()
	p := newProvider(version, nil)
	err := tf6server.Serve(Address, p.newServer, options...)
	return errors.Join(err, p.sandboxes.close())
}

// keepSecretsFromSDK has the SDK write no values, and gRPC no lines, whatever is asked for.
func keepSecretsFromSDK() {
	_ = os.Unsetenv("TF_LOG_SDK_PROTO_DATA_DIR")
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
}

// quietSDK switches the SDK's loggers off unless a log is asked for. The CLI would drop every
// line unread, and writing them takes half the time of a plan.
func quietSDK() {
	asked := func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return value != "" && (name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_PROVIDER") || strings.HasPrefix(name, "TF_LOG_SDK"))
	}
	if slices.ContainsFunc(os.Environ(), asked) {
		return
	}
	for _, logger := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
		_ = os.Setenv(logger, "OFF")
	}
}

const (
	// gcPercent lets the heap grow to five times of what is in use.
	gcPercent = 400
	// softMemoryLimit, in bytes, has the garbage collected more often beyond it.
	softMemoryLimit = 48 << 20
)

func tuneGarbageCollection() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemoryLimit)
	}
}
