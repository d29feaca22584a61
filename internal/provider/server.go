package provider

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// framework is the part of terraform-plugin-framework's server that this provider uses. It leaves out state stores,
// because this provider has none.
type framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

// server wraps the framework's server. It overrides most methods to turn panics into errors, which gRPC returns to the
// CLI, to remove secrets from diagnostics, and to free the memory of finished calls. The framework's server keeps the
// context of a call until the provider stops, and the context refers to the call's stream and loggers. See
// newCallContext. The other methods only describe what the provider has, or belong to features that it does not have.
type server struct {
	framework

	session   *atomic.Pointer[session.Session] // the session of the last successful configuration; empty before it
	sandboxes *sandboxes
}

// Close closes the embedded sandboxes.
func (s server) Close() error { return s.sandboxes.close() }

// handle calls a method of the framework's server. It turns a panic into an error, cleans the diagnostics of the
// response, and ends the context of the call when the method returns. It is not for methods that return a stream,
// because their calls end later.
func handle[Request, Response any](
	ctx context.Context, s server, req Request, method func(context.Context, Request) (Response, error),
) (response Response, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	defer end()
	response, err = method(ctx, req)
	if err != nil { // the response may be nil
		return response, err
	}
	value := reflect.Indirect(reflect.ValueOf(response))
	field := value.FieldByName("Diagnostics") // response types share no interface, and some have no diagnostics
	if field.IsValid() {
		diagnostics, _ := reflect.TypeAssert[[]*tfprotov6.Diagnostic](field)
		s.cleanDiagnostics(diagnostics)
	}
	return response, nil
}

// cleanDiagnostics removes secrets from diagnostics and corrects their attribute paths.
func (s server) cleanDiagnostics(diagnostics []*tfprotov6.Diagnostic) {
	for _, d := range diagnostics {
		d.Summary = s.redact(d.Summary)
		d.Detail = s.redact(d.Detail)
		d.Attribute = withKeySteps(d.Attribute)
	}
}

// withKeySteps replaces the names inside an object attribute, such as "to" in top_up.to, with keys. OpenTofu and some
// versions of Terraform find the line of an attribute inside an object only by its key.
func withKeySteps(attribute *tftypes.AttributePath) *tftypes.AttributePath {
	if attribute == nil || len(attribute.Steps()) < 2 {
		return attribute
	}
	steps := slices.Clone(attribute.Steps())
	// The first step is the object attribute itself.
	for i := 1; i < len(steps); i++ {
		name, ok := steps[i].(tftypes.AttributeName)
		if ok {
			steps[i] = tftypes.ElementKeyString(name)
		}
	}
	return tftypes.NewAttributePathWithSteps(steps)
}

// redact returns a text without API keys and other secrets.
func (s server) redact(text string) string {
	var client *transport.Client // a nil client knows no API key
	configured := s.session.Load()
	if configured.IsConfigured() {
		client = configured.Client.Client
	}
	return client.Redact(text)
}

// redactStream returns the results of a call with secrets removed. The call ends after the last result, or when the
// caller stops reading. If the code that produces the results panics while the caller still reads, errorResult makes the
// last result from a diagnostic.
func redactStream[Result any](
	results iter.Seq[Result], end func(), redactResult func(Result) Result, errorResult func(*tfprotov6.Diagnostic) Result,
) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		defer end()
		stopped, err := forward(results, redactResult, yield)
		if err != nil && !stopped { // a caller that has stopped reading does not accept the error
			yield(errorResult(&tfprotov6.Diagnostic{
				Severity: tfprotov6.DiagnosticSeverityError,
				Summary:  "Internal provider error",
				Detail:   session.DescribePanic(err),
			}))
		}
	}
}

// forward yields results with secrets removed. It reports whether the caller has stopped reading. The error describes a
// panic of the code that produces the results, which may also occur after the caller has stopped reading.
func forward[Result any](results iter.Seq[Result], redactResult func(Result) Result, yield func(Result) bool) (stopped bool, err error) {
	defer crash.Catch(&err)
	for result := range results {
		wantsMore := yield(redactResult(result))
		if !wantsMore {
			return true, nil
		}
	}
	return false, nil
}

// ListResource returns a stream whose results are produced while the caller reads them.
func (s server) ListResource(
	ctx context.Context, req *tfprotov6.ListResourceRequest,
) (results *tfprotov6.ListResourceServerStream, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	results, err = s.framework.ListResource(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	redactResult := func(result tfprotov6.ListResourceResult) tfprotov6.ListResourceResult {
		s.cleanDiagnostics(result.Diagnostics)
		name := s.redact(result.DisplayName)
		result.DisplayName = strings.ReplaceAll(name, "\n", " ") // redaction keeps line breaks, but the CLI prints one line
		return result
	}
	errorResult := func(d *tfprotov6.Diagnostic) tfprotov6.ListResourceResult {
		return tfprotov6.ListResourceResult{Diagnostics: []*tfprotov6.Diagnostic{d}}
	}
	results.Results = redactStream(results.Results, end, redactResult, errorResult)
	return results, nil
}

// InvokeAction returns a stream. The action runs while the caller reads its events.
func (s server) InvokeAction(
	ctx context.Context, req *tfprotov6.InvokeActionRequest,
) (events *tfprotov6.InvokeActionServerStream, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	events, err = s.framework.InvokeAction(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	redactEvent := func(event tfprotov6.InvokeActionEvent) tfprotov6.InvokeActionEvent {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			e.Message = s.redact(e.Message)
			event.Type = e
		case tfprotov6.CompletedInvokeActionEventType:
			s.cleanDiagnostics(e.Diagnostics)
		}
		return event
	}
	errorResult := func(d *tfprotov6.Diagnostic) tfprotov6.InvokeActionEvent {
		completed := tfprotov6.CompletedInvokeActionEventType{Diagnostics: []*tfprotov6.Diagnostic{d}}
		return tfprotov6.InvokeActionEvent{Type: completed}
	}
	events.Events = redactStream(events.Events, end, redactEvent, errorResult)
	return events, nil
}

// StopProvider does not use handle: its response has no diagnostics, and the framework does not keep its context.
func (s server) StopProvider(
	ctx context.Context, req *tfprotov6.StopProviderRequest,
) (response *tfprotov6.StopProviderResponse, err error) {
	defer crash.Catch(&err)
	return s.framework.StopProvider(ctx, req)
}

// GetProviderSchema adds the capability GenerateResourceConfig, which the framework implements but does not
// announce.
func (s server) GetProviderSchema(
	ctx context.Context, req *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	response, err := handle(ctx, s, req, s.framework.GetProviderSchema)
	if err == nil && response.ServerCapabilities != nil {
		response.ServerCapabilities.GenerateResourceConfig = true
	}
	return response, err
}

func (s server) ValidateProviderConfig(
	ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest,
) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateProviderConfig)
}

func (s server) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	return handle(ctx, s, req, s.framework.ConfigureProvider)
}

func (s server) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateResourceConfig)
}

func (s server) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return handle(ctx, s, req, s.framework.UpgradeResourceState)
}

func (s server) UpgradeResourceIdentity(
	ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest,
) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return handle(ctx, s, req, s.framework.UpgradeResourceIdentity)
}

func (s server) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	return handle(ctx, s, req, s.framework.ReadResource)
}

func (s server) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	return handle(ctx, s, req, s.framework.PlanResourceChange)
}

func (s server) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return handle(ctx, s, req, s.framework.ApplyResourceChange)
}

func (s server) ImportResourceState(
	ctx context.Context, req *tfprotov6.ImportResourceStateRequest,
) (*tfprotov6.ImportResourceStateResponse, error) {
	return handle(ctx, s, req, s.framework.ImportResourceState)
}

func (s server) ValidateDataResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest,
) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateDataResourceConfig)
}

func (s server) ReadDataSource(
	ctx context.Context, req *tfprotov6.ReadDataSourceRequest,
) (*tfprotov6.ReadDataSourceResponse, error) {
	return handle(ctx, s, req, s.framework.ReadDataSource)
}

func (s server) CallFunction(
	ctx context.Context, req *tfprotov6.CallFunctionRequest,
) (*tfprotov6.CallFunctionResponse, error) {
	return handle(ctx, s, req, s.framework.CallFunction)
}

func (s server) ValidateEphemeralResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest,
) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateEphemeralResourceConfig)
}

func (s server) OpenEphemeralResource(
	ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest,
) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return handle(ctx, s, req, s.framework.OpenEphemeralResource)
}

func (s server) ValidateListResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateListResourceConfigRequest,
) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateListResourceConfig)
}

func (s server) ValidateActionConfig(
	ctx context.Context, req *tfprotov6.ValidateActionConfigRequest,
) (*tfprotov6.ValidateActionConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateActionConfig)
}

func (s server) PlanAction(
	ctx context.Context, req *tfprotov6.PlanActionRequest,
) (*tfprotov6.PlanActionResponse, error) {
	return handle(ctx, s, req, s.framework.PlanAction)
}

// callContext replaces the context of one protocol call. When the call has ended, it no longer refers to that context.
type callContext struct {
	context.Context // is cancelled when the call ends or is cancelled

	call atomic.Pointer[context.Context] // the context of the call; nil when the call has ended
}

// newCallContext returns a context with the values and the cancellation of a call's context, and the function that ends
// it. The context has no deadline.
func newCallContext(call context.Context) (ctx context.Context, end func()) {
	lifetime, cancel := context.WithCancelCause(context.Background())
	c := &callContext{Context: lifetime}
	c.call.Store(&call)
	stop := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	return c, func() {
		stop()
		cancel(context.Canceled)
		c.call.Store(nil)
	}
}

func (c *callContext) Value(key any) any {
	// With a key of its own, package context looks up the context that cancels c. The result must be the embedded context,
	// not the call's context, so the embedded context comes first. It has no other values.
	value := c.Context.Value(key)
	if value != nil {
		return value
	}
	call := c.call.Load()
	if call == nil {
		return nil
	}
	return (*call).Value(key)
}

// GenerateResourceConfig generates null instead of false. With frozen = false in the configuration, apply would
// unfreeze a card that someone freezes in an emergency. With null, the card stays frozen.
func (s server) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	response, err := handle(ctx, s, req, s.framework.GenerateResourceConfig)
	if err != nil || response.Config == nil {
		return response, err
	}
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	resourceType := schemas.ResourceSchemas[req.TypeName].ValueType()
	config, err := response.Config.Unmarshal(resourceType)
	if err != nil {
		return nil, err
	}
	config, err = tftypes.Transform(config, nullIfFalse)
	if err != nil {
		return nil, err
	}
	encoded, err := tfprotov6.NewDynamicValue(resourceType, config)
	if err != nil {
		return nil, err
	}
	response.Config = &encoded
	return response, nil
}

// nullIfFalse returns null for false, and any other value unchanged.
func nullIfFalse(_ *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
	if value.Equal(tftypes.NewValue(tftypes.Bool, false)) {
		return tftypes.NewValue(tftypes.Bool, nil), nil
	}
	return value, nil
}
