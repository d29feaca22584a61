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

// framework is what terraform-plugin-framework's server serves of the protocol,
// less state stores, of which this provider has none.
type framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
}

// server is the framework's server, which keeps the context of every call until
// the provider stops: with it goes the call's stream and its loggers, 150 KB a
// call. Each call that runs code of ours, or is made for each resource, gets a context
// that lets go of all that when the call is over.
type server struct {
	framework

	session   *atomic.Pointer[session.Session] // of the last configuration; empty before
	sandboxes *sandboxes
}

// Close closes the embedded services, as the end of the provider's process does.
func (s server) Close() error { return s.sandboxes.close() }

// handle has the framework handle a call that is over when it returns.
func handle[Request, Response any](ctx context.Context, s server, req Request, method func(context.Context, Request) (Response, error)) (response Response, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	defer end()
	response, err = method(ctx, req)
	if err != nil { // then there may be no response
		return response, err
	}
	if field := reflect.Indirect(reflect.ValueOf(response)).FieldByName("Diagnostics"); field.IsValid() {
		diagnostics, _ := reflect.TypeAssert[[]*tfprotov6.Diagnostic](field)
		s.finish(diagnostics)
	}
	return response, nil
}

// finish removes secrets from diagnostics, whatever code put them there, and makes their
// attributes point at the right line.
func (s server) finish(diagnostics []*tfprotov6.Diagnostic) {
	for _, d := range diagnostics {
		d.Summary = s.redacted(d.Summary)
		d.Detail = s.redacted(d.Detail)
		d.Attribute = byKey(d.Attribute)
	}
}

// byKey replaces names inside an object attribute, such as top_up.to, by keys. Terraform before
// 1.17 and OpenTofu find the line of an attribute inside an object only by its key.
func byKey(attribute *tftypes.AttributePath) *tftypes.AttributePath {
	if attribute == nil || len(attribute.Steps()) < 2 {
		return attribute
	}
	steps := slices.Clone(attribute.Steps())
	for i, step := range steps[1:] {
		if name, ok := step.(tftypes.AttributeName); ok {
			steps[i+1] = tftypes.ElementKeyString(name)
		}
	}
	return tftypes.NewAttributePathWithSteps(steps)
}

func (s server) redacted(text string) string {
	var client *transport.Client // which knows its key, once there is one
	if configured := s.session.Load(); configured.Known() {
		client = configured.Client.Client
	}
	return client.Redact(text)
}

// stream ends a call when its results are wanted no more. Its last result tells of a panic.
func stream[Result any](results iter.Seq[Result], end func(), redacted func(Result) Result, failed func(*tfprotov6.Diagnostic) Result) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		defer end()
		wanted := true
		err := func() (err error) {
			defer crash.Catch(&err)
			results(func(result Result) bool {
				wanted = yield(redacted(result))
				return wanted
			})
			return nil
		}()
		if err != nil && wanted {
			yield(failed(&tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: "The provider failed", Detail: err.Error()}))
		}
	}
}

// ListResource makes its results while they are read.
func (s server) ListResource(ctx context.Context, req *tfprotov6.ListResourceRequest) (results *tfprotov6.ListResourceServerStream, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	results, err = s.framework.ListResource(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	redacted := func(result tfprotov6.ListResourceResult) tfprotov6.ListResourceResult {
		s.finish(result.Diagnostics)
		result.DisplayName = strings.ReplaceAll(s.redacted(result.DisplayName), "\n", " ")
		return result
	}
	results.Results = stream(results.Results, end, redacted, func(why *tfprotov6.Diagnostic) tfprotov6.ListResourceResult {
		return tfprotov6.ListResourceResult{Diagnostics: []*tfprotov6.Diagnostic{why}}
	})
	return results, nil
}

// InvokeAction acts while its events are read.
func (s server) InvokeAction(ctx context.Context, req *tfprotov6.InvokeActionRequest) (events *tfprotov6.InvokeActionServerStream, err error) {
	defer crash.Catch(&err)
	ctx, end := newCallContext(ctx)
	events, err = s.framework.InvokeAction(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	redacted := func(event tfprotov6.InvokeActionEvent) tfprotov6.InvokeActionEvent {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			e.Message = s.redacted(e.Message)
			event.Type = e
		case tfprotov6.CompletedInvokeActionEventType:
			s.finish(e.Diagnostics)
		}
		return event
	}
	events.Events = stream(events.Events, end, redacted, func(why *tfprotov6.Diagnostic) tfprotov6.InvokeActionEvent {
		return tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: []*tfprotov6.Diagnostic{why}}}
	})
	return events, nil
}

// StopProvider cancels every call that runs.
func (s server) StopProvider(ctx context.Context, req *tfprotov6.StopProviderRequest) (response *tfprotov6.StopProviderResponse, err error) {
	defer crash.Catch(&err)
	return s.framework.StopProvider(ctx, req)
}

// GetProviderSchema says that configuration is generated here, which the framework
// does and does not say.
func (s server) GetProviderSchema(ctx context.Context, req *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	response, err := handle(ctx, s, req, s.framework.GetProviderSchema)
	if err == nil && response.ServerCapabilities != nil {
		response.ServerCapabilities.GenerateResourceConfig = true
	}
	return response, err
}

func (s server) ValidateProviderConfig(ctx context.Context, req *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateProviderConfig)
}

func (s server) ConfigureProvider(ctx context.Context, req *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return handle(ctx, s, req, s.framework.ConfigureProvider)
}

func (s server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateResourceConfig)
}

func (s server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	return handle(ctx, s, req, s.framework.UpgradeResourceState)
}

func (s server) UpgradeResourceIdentity(ctx context.Context, req *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	return handle(ctx, s, req, s.framework.UpgradeResourceIdentity)
}

func (s server) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	return handle(ctx, s, req, s.framework.ReadResource)
}

func (s server) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	return handle(ctx, s, req, s.framework.PlanResourceChange)
}

func (s server) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	return handle(ctx, s, req, s.framework.ApplyResourceChange)
}

func (s server) ImportResourceState(ctx context.Context, req *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	return handle(ctx, s, req, s.framework.ImportResourceState)
}

func (s server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateDataResourceConfig)
}

func (s server) ReadDataSource(ctx context.Context, req *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	return handle(ctx, s, req, s.framework.ReadDataSource)
}

func (s server) CallFunction(ctx context.Context, req *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	return handle(ctx, s, req, s.framework.CallFunction)
}

func (s server) ValidateEphemeralResourceConfig(ctx context.Context, req *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateEphemeralResourceConfig)
}

func (s server) OpenEphemeralResource(ctx context.Context, req *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	return handle(ctx, s, req, s.framework.OpenEphemeralResource)
}

func (s server) ValidateListResourceConfig(ctx context.Context, req *tfprotov6.ValidateListResourceConfigRequest) (*tfprotov6.ValidateListResourceConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateListResourceConfig)
}

func (s server) ValidateActionConfig(ctx context.Context, req *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	return handle(ctx, s, req, s.framework.ValidateActionConfig)
}

func (s server) PlanAction(ctx context.Context, req *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	return handle(ctx, s, req, s.framework.PlanAction)
}

// callContext is the context of one protocol call, of which little is left once that has ended.
type callContext struct {
	context.Context // ends with the call
	call            atomic.Pointer[context.Context]
}

// newCallContext returns a context with the values and the cancellation of a call's
// own, which has no deadline, and the function that ends it.
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
	// The lifetime has nothing but the key by which context finds what to cancel.
	if value := c.Context.Value(key); value != nil {
		return value
	}
	if call := c.call.Load(); call != nil {
		return (*call).Value(key)
	}
	return nil
}

// GenerateResourceConfig leaves out what is false. A card stays as it is without
// frozen = false, and with it the next plan undoes what somebody froze in an emergency.
func (s server) GenerateResourceConfig(ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	response, err := handle(ctx, s, req, s.framework.GenerateResourceConfig)
	if err != nil || response.Config == nil {
		return response, err
	}
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	of := schemas.ResourceSchemas[req.TypeName].ValueType()
	config, err := response.Config.Unmarshal(of)
	if err != nil {
		return nil, err
	}
	no := tftypes.NewValue(tftypes.Bool, false)
	config, err = tftypes.Transform(config, func(_ *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
		if value.Equal(no) {
			return tftypes.NewValue(tftypes.Bool, nil), nil
		}
		return value, nil
	})
	if err != nil {
		return nil, err
	}
	written, err := tfprotov6.NewDynamicValue(of, config)
	response.Config = &written
	return response, err
}
