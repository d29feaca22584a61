package provider

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

const bothWays = `Configure one of the two:

  provider "vcard" {
    sandbox = { path = "vcard-sandbox.db" } # the embedded service: no account, no network
  }

  provider "vcard" {
    base_url = "https://…/api/v1" # the service; or VCARD_BASE_URL
    # api_key from VCARD_API_KEY, so that it stands in no file
  }

The environment variable VCARD_SANDBOX names a sandbox file as well.`

// connect makes the client that a known configuration and these settings lead to. The
// embedded service is nil where an account is used.
func (c config) connect(ctx context.Context, sandboxPath string, settings api.Config) (*api.Client, *sandbox.Sandbox, diag.Diagnostics) {
	diags := diag.Diagnostics{}
	diags.Append(c.check(sandboxPath))
	c.tune(ctx, &settings, &diags)
	var embedded sandboxConfig
	if !c.Sandbox.IsNull() {
		diags.Append(c.Sandbox.As(ctx, &embedded, basetypes.ObjectAsOptions{})...)
	}
	if diags.HasError() {
		return nil, nil, diags
	}
	var service *sandbox.Sandbox
	if sandboxPath != "" {
		service = c.openSandbox(ctx, sandboxPath, embedded.InitialBalance, &settings, &diags)
	} else {
		c.addressService(&settings, &diags)
	}
	if diags.HasError() {
		return nil, nil, diags
	}
	client, err := api.New(settings)
	if err != nil {
		diags.Append(misconfigured(err))
	}
	return client, service, diags
}

// check returns what is wrong with where a known configuration leads, as far as that
// shows before anything is opened or asked, or nil.
func (c config) check(sandboxPath string) diag.Diagnostic {
	key, base := c.APIKey.ValueString(), c.BaseURL.ValueString()
	switch {
	case sandboxPath != "":
		return c.checkSandbox(sandboxPath)
	case key == "" || base == "": // the environment of the plan may have it
		return nil
	}
	return checkAccount(strings.TrimSpace(key), base)
}

// tune takes over the settings that both ways of use share.
func (c config) tune(ctx context.Context, settings *api.Config, diags *diag.Diagnostics) {
	if !c.RequestTimeout.IsNull() {
		timeout, err := time.ParseDuration(c.RequestTimeout.ValueString())
		if err != nil {
			diags.AddAttributeError(path.Root("request_timeout"), "Invalid duration", sentence(err))
		}
		settings.RequestTimeout = timeout
	}
	if !c.MaxRetries.IsNull() {
		settings.MaxRetries = whole(c.MaxRetries)
	}
	settings.KeysHonoured = c.IdempotencyKeys.ValueString() == keysHonoured
	if !c.RateLimits.IsNull() {
		var limits rateLimits
		diags.Append(c.RateLimits.As(ctx, &limits, basetypes.ObjectAsOptions{})...)
		settings.Limits = ratelimit.Limits{
			RequestsPerMinute: whole(limits.RequestsPerMinute),
			RequestsPerHour:   whole(limits.RequestsPerHour),
			CreatesPerMinute:  whole(limits.CreatesPerMinute),
			DetailsPerMinute:  whole(limits.DetailsPerMinute),
		}
	}
}

// whole is a number that was found to be whole, or 0 when it is not set.
func whole(number types.Number) int {
	if number.IsNull() {
		return 0
	}
	n, _ := number.ValueBigFloat().Int64()
	return int(n)
}

func (c config) addressService(settings *api.Config, diags *diag.Diagnostics) {
	key, base := c.APIKey.ValueString(), c.BaseURL.ValueString()
	trimmed := strings.TrimSpace(key)
	switch {
	case key == "" && base == "":
		diags.AddError("The vcard provider is not configured", bothWays)
	case key == "":
		diags.AddAttributeError(path.Root("api_key"), "No API key",
			"base_url is set, but neither api_key nor "+envAPIKey+". Keys are made in the dashboard under API access and begin with sk_live_.")
	case base == "":
		diags.AddAttributeError(path.Root("base_url"), "No service address",
			"api_key is set, but neither base_url nor "+envBaseURL+". Set the service's address with its version prefix, as in https://host/api/v1.")
	case trimmed != key:
		diags.AddWarning("Spaces around the API key",
			"api_key, or "+envAPIKey+" in its place, begins or ends with spaces or line breaks. They are left out here, and may be refused elsewhere.")
	}
	settings.APIKey, settings.BaseURL = transport.Secret(trimmed), base
}

func checkAccount(key, base string) diag.Diagnostic {
	u, err := url.Parse(base)
	if err == nil && !strings.Contains(strings.ToLower(base), "sk_live_") && strings.HasPrefix(key, transport.SandboxKeyPrefix) &&
		u.Scheme != "http" && u.Hostname() != "" && !transport.IsLoopback(u.Hostname()) {
		return diag.NewErrorDiagnostic("A sandbox key for a foreign host",
			fmt.Sprintf("api_key was made by a sandbox, but base_url points to %q, which is not this machine. Use the account's own key there, or the address that the sandbox printed.", u.Host))
	}
	if _, err := api.New(api.Config{APIKey: transport.Secret(key), BaseURL: base}); err != nil {
		return misconfigured(err)
	}
	return nil
}

// misconfigured says which attribute breaks which rule of the client. Of a secret, the
// diagnostic has no path: the CLI would show the line.
func misconfigured(err error) diag.Diagnostic {
	broken, ok := errors.AsType[*transport.ConfigError](err)
	switch {
	case ok && broken.Field == transport.FieldAPIKey:
		return diag.NewErrorDiagnostic("Not an API key of this service",
			"api_key must "+broken.Rule+". Keys are made in the dashboard under API access; copy the whole key from there.")
	case ok && broken.Field != transport.FieldBaseURL:
		return diag.NewErrorDiagnostic("Not the address of a proxy",
			broken.Field+", or the same in lower case, in the environment must "+broken.Rule+". Taken for no proxy, it would let the API key go past the one that is meant. Correct it or unset it.")
	case ok && broken.Secret:
		return diag.NewErrorDiagnostic("Not the address of a service", "base_url must "+broken.Rule+".")
	case ok:
		return diag.NewAttributeErrorDiagnostic(path.Root("base_url"), "Not the address of a service", "base_url must "+broken.Rule+".")
	}
	return diag.NewErrorDiagnostic("The provider cannot be configured like this", sentence(err))
}

func (c config) checkSandbox(file string) diag.Diagnostic {
	hasAccount := !c.APIKey.IsNull() || !c.BaseURL.IsNull()
	refuse := func(title, text string) diag.Diagnostic {
		return diag.NewAttributeErrorDiagnostic(path.Root("sandbox").AtName("path"), title, "sandbox.path, or "+envSandbox+", "+text)
	}
	switch {
	case strings.Contains(strings.ToLower(file), "sk_live_"): // no attribute: the CLI would show the line
		return diag.NewErrorDiagnostic("Not a path",
			"sandbox.path, or "+envSandbox+", must not hold an API key, which has a place of its own: api_key, or "+envAPIKey+".")
	case hasAccount && !c.Sandbox.IsNull():
		return diag.NewAttributeErrorDiagnostic(path.Root("sandbox"), "Either the sandbox or an account",
			"sandbox excludes api_key and base_url: the embedded service has its own. Remove one of them.")
	case hasAccount:
		return diag.NewErrorDiagnostic("Either the sandbox or an account",
			envSandbox+" is set beside "+envAPIKey+" or "+envBaseURL+". Unset one of them, or write into the provider block which of them to use.")
	case strings.ContainsFunc(file, unicode.IsControl):
		return refuse("Not a path", `must have no control character. In a Windows path, write / or \\ where there is a \.`)
	case strings.TrimSpace(file) == "":
		return refuse("Not a path", "must have more than spaces.")
	case file == ":memory:":
		return refuse("The sandbox needs a file", "is :memory:, which keeps nothing from one run of the provider to the next, and a plan and "+
			"its apply are two: every card would be lost, while the state still has it. Name a file.")
	case strings.HasPrefix(file, "~"), strings.HasPrefix(file, "$"):
		return refuse("Not expanded by Terraform", fmt.Sprintf("is %q. Only a shell knows what ~ and variables stand for; write path = pathexpand(\"~/…\"), "+
			"or a path from this module, as in \"${path.root}/sandbox.db\".", file))
	case strings.Contains(file, "://"), strings.HasPrefix(file, "file:"), strings.Contains(file, "?"):
		return refuse("Not a path", fmt.Sprintf("must be the path of a file, as in vcard-sandbox.db, got %q. "+
			"For a sandbox that runs as a server, set base_url and api_key to what it printed.", file))
	case !isOwnFile(file):
		return refuse("Not a path", fmt.Sprintf("must name a file of its own, with an extension, as in vcard-sandbox.db, got %q.", file))
	}
	return nil
}

// isOwnFile admits names with an extension that is not Terraform's: a path of "true", of
// a folder or of the state would make a sandbox that nobody meant, or lock the state.
func isOwnFile(file string) bool {
	extension := filepath.Ext(file)
	return len(extension) > 1 && strings.TrimSpace(file) == file && !strings.HasPrefix(extension, ".tf")
}

func (c config) openSandbox(ctx context.Context, file string, balance types.String, settings *api.Config, diags *diag.Diagnostics) *sandbox.Sandbox {
	options := sandbox.Options{Path: file, InitialBalance: sandbox.DefaultInitialBalance}
	if !balance.IsNull() {
		amount, err := readAmount(balance.ValueString())
		if err != nil { // a value that was not known when it was validated
			diags.AddAttributeError(path.Root("sandbox").AtName("initial_balance"), "Not an amount", "sandbox.initial_balance "+err.Error()+".")
			return nil
		}
		options.InitialBalance = amount
	}
	// The file stays open until the provider's process ends, longer than this call.
	service, err := sandbox.Open(context.WithoutCancel(ctx), options)
	if err != nil {
		diags.AddAttributeError(path.Root("sandbox").AtName("path"), "The sandbox cannot be opened", sentence(err))
		return nil
	}
	settings.BaseURL, settings.APIKey = "http://localhost/api/v1", transport.Secret(service.APIKey())
	settings.Transport = sandbox.Direct{Handler: service.Handler()}
	settings.KeysHonoured = settings.KeysHonoured || c.IdempotencyKeys.IsNull()
	return service
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// sandboxes are the embedded services that configurations have opened. They stay
// open until the provider ends: resources are served long after Configure.
type sandboxes struct {
	mu   sync.Mutex
	open []*sandbox.Sandbox
}

func (s *sandboxes) keep(service *sandbox.Sandbox) {
	if service == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, service)
}

func (s *sandboxes) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, service := range s.open {
		errs = append(errs, service.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}
