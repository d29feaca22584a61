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
	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

const configureAdvice = `Neither a sandbox nor an account is configured. Configure one of them:

  provider "vcard" {
    sandbox = { path = "vcard-sandbox.db" } # the embedded sandbox: no account, no network
  }

  provider "vcard" {
    base_url = "https://…/api/v1" # the service; or set VCARD_BASE_URL
    # set VCARD_API_KEY instead of api_key, so that no file contains the key
  }

The environment variable VCARD_SANDBOX can also name a sandbox file.`

// newClient creates a client with the settings. The configuration overrides them, and must be fully known. If
// sandboxPath is not empty, newClient also opens the embedded sandbox in that file and returns it. After an error the
// client is nil, but the sandbox may be open.
func (c config) newClient(ctx context.Context, sandboxPath string, settings api.Config) (*api.Client, *sandbox.Sandbox, diag.Diagnostics) {
	diags := diag.Diagnostics{}
	diags.Append(c.check(sandboxPath))
	c.applyShared(ctx, &settings, &diags)
	var sandboxAttributes sandboxConfig
	if !c.Sandbox.IsNull() {
		diags.Append(c.Sandbox.As(ctx, &sandboxAttributes, basetypes.ObjectAsOptions{})...)
	}
	if diags.HasError() {
		return nil, nil, diags
	}
	var embedded *sandbox.Sandbox
	if sandboxPath != "" {
		embedded = c.openSandbox(ctx, sandboxPath, sandboxAttributes.InitialBalance, &settings, &diags)
	} else {
		c.applyAccount(&settings, &diags)
	}
	if diags.HasError() {
		return nil, nil, diags
	}
	client, err := api.New(settings)
	if err != nil {
		diags.Append(configDiagnostic(err))
	}
	return client, embedded, diags
}

// check returns what is wrong with the account or the sandbox of a known configuration, or nil. It does not report
// missing settings. It opens no file and sends no request.
func (c config) check(sandboxPath string) diag.Diagnostic {
	if sandboxPath != "" {
		return c.checkSandbox(sandboxPath)
	}
	key := c.APIKey.ValueString()
	baseURL := c.BaseURL.ValueString()
	if key == "" || baseURL == "" {
		return nil // no error yet: validate may run without the environment variables that plan has
	}
	return checkAccount(strings.TrimSpace(key), baseURL)
}

// applyShared copies the settings that apply to an account and to the sandbox.
func (c config) applyShared(ctx context.Context, settings *api.Config, diags *diag.Diagnostics) {
	if !c.RequestTimeout.IsNull() {
		text := c.RequestTimeout.ValueString()
		timeout, err := time.ParseDuration(text)
		if err != nil { // possible if the configuration was not validated
			diags.AddAttributeError(path.Root("request_timeout"), "Invalid duration", "request_timeout "+checkTimeout(text))
		} else {
			settings.RequestTimeout = timeout
		}
	}
	if !c.MaxRetries.IsNull() {
		settings.MaxRetries = intOrZero(c.MaxRetries)
	}
	settings.KeysHonoured = c.IdempotencyKeys.ValueString() == keysHonoured
	if !c.RateLimits.IsNull() {
		var limits rateLimits
		diags.Append(c.RateLimits.As(ctx, &limits, basetypes.ObjectAsOptions{})...)
		settings.Limits = ratelimit.Limits{ // where a number is 0, the documented limit applies
			RequestsPerMinute: intOrZero(limits.RequestsPerMinute),
			RequestsPerHour:   intOrZero(limits.RequestsPerHour),
			CreatesPerMinute:  intOrZero(limits.CreatesPerMinute),
			DetailsPerMinute:  intOrZero(limits.DetailsPerMinute),
		}
	}
}

// intOrZero returns the integer part of a number, or 0 for null.
func intOrZero(number types.Number) int {
	if number.IsNull() {
		return 0
	}
	n, _ := number.ValueBigFloat().Int64()
	return int(n)
}

// applyAccount copies the address and the key of an account. It adds an error if one or both are missing, and a
// warning if the key has whitespace around it.
func (c config) applyAccount(settings *api.Config, diags *diag.Diagnostics) {
	key := c.APIKey.ValueString()
	baseURL := c.BaseURL.ValueString()
	trimmed := strings.TrimSpace(key)
	settings.APIKey = transport.Secret(trimmed)
	settings.BaseURL = baseURL

	if key == "" && baseURL == "" {
		diags.AddError("Provider is not configured", configureAdvice)
		return
	}
	if key == "" {
		diags.AddAttributeError(path.Root("api_key"), "Missing API key",
			"A service address is configured, but no API key. Set api_key or "+envAPIKey+". "+
				"You create keys in the dashboard under API access; they start with sk_live_.")
		return
	}
	if baseURL == "" {
		diags.AddAttributeError(path.Root("base_url"), "Missing service address",
			"An API key is configured, but no service address. Set base_url or "+envBaseURL+" to the service's address with its "+
				"version, such as https://host/api/v1.")
		return
	}
	if trimmed != key {
		diags.AddWarning("API key has surrounding whitespace",
			"The value of api_key or "+envAPIKey+" starts or ends with spaces or line breaks. The provider ignores these characters, "+
				"but other tools may not. Remove them from the value.")
	}
}

// checkAccount returns what is wrong with the address, the key or the proxy of an account, or nil.
func checkAccount(key, baseURL string) diag.Diagnostic {
	host := foreignHost(baseURL)
	if host != "" && strings.HasPrefix(key, transport.SandboxKeyPrefix) {
		return diag.NewErrorDiagnostic("Sandbox key used with another host",
			fmt.Sprintf("The API key belongs to a sandbox, but the service address points to %q, which is not this machine. "+
				"To use the account, set api_key or "+envAPIKey+" to its own key. "+
				"To use the sandbox, set base_url or "+envBaseURL+" to the address that it printed.", host))
	}
	// New checks the settings and sends no request.
	_, err := api.New(api.Config{APIKey: transport.Secret(key), BaseURL: baseURL})
	if err != nil {
		return configDiagnostic(err)
	}
	return nil
}

// foreignHost returns the host and port of an address on another machine. It returns "" for this machine, for plain
// http, which a sandbox on another machine may use, and for an address that has no valid host or contains an API key.
func foreignHost(baseURL string) string {
	if strings.Contains(strings.ToLower(baseURL), "sk_live_") {
		return "" // the address contains an API key, which no message may quote
	}
	u, err := url.Parse(strings.TrimSpace(baseURL))
	if err != nil || u.Scheme == "http" {
		return ""
	}
	if u.Hostname() == "" || transport.IsLoopback(u.Hostname()) {
		return ""
	}
	return u.Host
}

// configDiagnostic describes an error of [api.New]. The diagnostic has no attribute path if the value may contain a
// secret, because the CLI prints the line of the attribute.
func configDiagnostic(err error) diag.Diagnostic {
	invalid, ok := errors.AsType[*transport.ConfigError](err)
	if !ok {
		return diag.NewErrorDiagnostic("Invalid provider configuration", display.Sentence(err.Error()))
	}
	switch invalid.Field {
	case transport.FieldAPIKey:
		return diag.NewErrorDiagnostic("Invalid API key",
			"api_key or "+envAPIKey+" must "+invalid.Rule+". Copy the whole key from the dashboard, under API access.")
	case transport.FieldBaseURL:
		detail := "base_url or " + envBaseURL + " must " + invalid.Rule + "."
		if invalid.Secret {
			return diag.NewErrorDiagnostic("Invalid service address", detail)
		}
		return diag.NewAttributeErrorDiagnostic(path.Root("base_url"), "Invalid service address", detail)
	default: // the field is the name of an environment variable, such as HTTPS_PROXY
		return diag.NewErrorDiagnostic("Invalid proxy address",
			"The environment variable "+invalid.Field+" or "+strings.ToLower(invalid.Field)+" must "+invalid.Rule+". "+
				"Otherwise requests with the API key might bypass the proxy. Correct or unset the variable.")
	}
}

// checkSandbox returns what is wrong with a configuration that uses the embedded sandbox, or nil.
func (c config) checkSandbox(file string) diag.Diagnostic {
	if strings.Contains(strings.ToLower(file), "sk_live_") {
		// The error has no attribute path, because the CLI would print the line with the key.
		return diag.NewErrorDiagnostic("Invalid sandbox path",
			"sandbox.path or "+envSandbox+" contains an API key. Set the key with api_key or "+envAPIKey+" instead.")
	}
	if c.setsAccount() {
		if c.Sandbox.IsNull() { // the settings come from the environment
			return diag.NewErrorDiagnostic("Both sandbox and account are configured",
				envSandbox+" is set together with "+envAPIKey+" or "+envBaseURL+". "+
					"To use the account, unset "+envSandbox+". To use the sandbox, unset the other two. "+
					"Alternatively, configure the account or the sandbox in the provider block, which overrides the variables.")
		}
		return diag.NewAttributeErrorDiagnostic(path.Root("sandbox"), "Both sandbox and account are configured",
			"sandbox conflicts with api_key and base_url: the embedded sandbox has its own key and address. "+
				"Remove sandbox to use the account, or remove api_key and base_url to use the sandbox.")
	}
	return checkSandboxPath(file)
}

// checkSandboxPath returns what is wrong with the path of a sandbox, or nil.
func checkSandboxPath(file string) diag.Diagnostic {
	switch {
	case strings.ContainsFunc(file, unicode.IsControl):
		return refusePath("Invalid sandbox path", `contains a control character. In a Windows path, write / or \\ instead of \.`)
	case strings.TrimSpace(file) == "":
		return refusePath("Invalid sandbox path", "must not be blank.")
	case file == ":memory:":
		return refusePath("Sandbox must be stored in a file", "is :memory:. Such a sandbox ends with the provider's process. "+
			"Plan and apply are two processes, so the cards would be lost. Name a file, such as vcard-sandbox.db.")
	case strings.HasPrefix(file, "~"), strings.HasPrefix(file, "$"):
		return refusePath("Sandbox path is not expanded", fmt.Sprintf("is %q. Terraform expands neither ~ nor "+
			"environment variables. "+
			"Write path = pathexpand(\"~/…\"), or a path in this module, such as \"${path.root}/sandbox.db\". "+
			"In "+envSandbox+", use an absolute path.", file))
	case strings.Contains(file, "://"), strings.HasPrefix(file, "file:"), strings.Contains(file, "?"):
		return refusePath("Invalid sandbox path", fmt.Sprintf("must be the path of a file, such as vcard-sandbox.db, got %q. "+
			"To use a sandbox that runs as a server, set base_url and api_key to the values that it printed.", file))
	case strings.TrimSpace(file) != file:
		return refusePath("Invalid sandbox path", fmt.Sprintf("must not start or end with a space, got %q.", file))
	case len(filepath.Ext(file)) <= 1: // no extension or only its dot, as in "true" or the path of a folder
		return refusePath("Invalid sandbox path", fmt.Sprintf("must name a file with an extension, such as vcard-sandbox.db, got %q.", file))
	case strings.HasPrefix(filepath.Ext(file), ".tf"): // such as terraform.tfstate
		return refusePath("Invalid sandbox path", fmt.Sprintf("must not be one of Terraform's files, got %q. Name another file, such as vcard-sandbox.db.", file))
	}
	return nil
}

// refusePath returns an error about the path of the sandbox. The problem completes "sandbox.path or VCARD_SANDBOX …".
func refusePath(title, problem string) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("sandbox").AtName("path"), title, "sandbox.path or "+envSandbox+" "+problem)
}

// openSandbox opens the embedded sandbox and sets its address, key and transport in settings. It also sets KeysHonoured
// if idempotency_keys is not configured, because the sandbox honours keys. On failure it adds an error and returns nil.
func (c config) openSandbox(ctx context.Context, file string, initialBalance types.String, settings *api.Config, diags *diag.Diagnostics) *sandbox.Sandbox {
	options := sandbox.Options{Path: file, InitialBalance: sandbox.DefaultInitialBalance}
	if !initialBalance.IsNull() {
		amount, err := parseBalance(initialBalance.ValueString())
		if err != nil { // possible if the configuration was not validated
			diags.AddAttributeError(path.Root("sandbox").AtName("initial_balance"), "Invalid amount", "sandbox.initial_balance "+err.Error()+".")
			return nil
		}
		options.InitialBalance = amount
	}
	// The sandbox stays open after this call, so the end of the call's context must not affect it.
	service, err := sandbox.Open(context.WithoutCancel(ctx), options)
	if err != nil {
		diags.AddAttributeError(path.Root("sandbox").AtName("path"), "Sandbox cannot be opened", display.Sentence(err.Error()))
		return nil
	}
	// The client requires an address, but its requests do not leave this process.
	settings.BaseURL = "http://localhost/api/v1"
	settings.APIKey = transport.Secret(service.APIKey())
	settings.Transport = sandbox.Direct{Handler: service.Handler()}
	if c.IdempotencyKeys.IsNull() {
		settings.KeysHonoured = true
	}
	return service
}

// sandboxes are embedded sandboxes that stay open until close, because resources use them long after Configure.
type sandboxes struct {
	mu   sync.Mutex
	open []*sandbox.Sandbox
}

func (s *sandboxes) keep(service *sandbox.Sandbox) {
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
