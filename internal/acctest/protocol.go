package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

// Protocol calls a configured provider in this process like Terraform does, for requests that
// the CLI under test may be too old to make. It is safe for concurrent use. Like Terraform, it
// validates a configuration before it uses it.
type Protocol struct {
	t       testing.TB
	ctx     context.Context
	server  protocolServer
	schemas *tfprotov6.GetProviderSchemaResponse
}

type protocolServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	io.Closer
}

// Protocol configures a provider for this service. The provider block also gets the attributes
// in more, such as rate_limits.
func (s *Service) Protocol(more Object) *Protocol {
	s.T.Helper()
	config := Object{"base_url": s.URL, "api_key": s.Key}
	maps.Copy(config, more)
	return Configure(s.T, config)
}

// Configure configures a provider with a provider block, which must be valid.
func Configure(t testing.TB, config Object, options ...provider.Option) *Protocol {
	t.Helper()
	server := provider.NewServer("test", append([]provider.Option{provider.WithClock(new(Clock))}, options...)...)()
	p := &Protocol{t: t, ctx: t.Context()}
	p.server, _ = server.(protocolServer)
	t.Cleanup(func() { _ = p.server.Close() })
	p.schemas = call(p, server.GetProviderSchema, tfprotov6.GetProviderSchemaRequest{})
	block := encode(p.schemas.Provider, config)
	validated := call(p, server.ValidateProviderConfig, tfprotov6.ValidateProviderConfigRequest{Config: block})
	Diagnostics(append(p.schemas.Diagnostics, validated.Diagnostics...)).Must(t)
	configured := tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.14.0", Config: block}
	Diagnostics(call(p, server.ConfigureProvider, configured).Diagnostics).Must(t)
	return p
}

// With returns a Protocol for the same provider with another context.
func (p *Protocol) With(ctx context.Context) *Protocol {
	own := *p
	own.ctx = ctx
	return &own
}

// call makes a call. It panics on an error of the protocol itself.
func call[Request, Response any](p *Protocol, to func(context.Context, *Request) (*Response, error), request Request) *Response {
	return must(to(p.ctx, &request))
}

// Interrupt asks the provider to stop, as Terraform does when it is interrupted.
func (p *Protocol) Interrupt() {
	call(p, p.server.StopProvider, tfprotov6.StopProviderRequest{})
}

// ReadDataSource returns the attributes of a data source.
func (p *Protocol) ReadDataSource(name string, config Object) (Object, Diagnostics) {
	schema := p.schemas.DataSourceSchemas[name]
	read := call(p, p.server.ReadDataSource, tfprotov6.ReadDataSourceRequest{TypeName: name, Config: encode(schema, config)})
	return decode(schema.ValueType(), read.State), read.Diagnostics
}

// InvokeAction plans and invokes an action and returns its progress messages.
// Resolved contains the values of attributes that were unknown in the plan.
func (p *Protocol) InvokeAction(name string, config, resolved Object) (progress []string, diagnostics Diagnostics) {
	schema := p.schemas.ActionSchemas[name].Schema
	diagnostics = call(p, p.server.ValidateActionConfig, tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: encode(schema, config)}).Diagnostics
	diagnostics = append(diagnostics, p.PlanAction(name, config)...)
	if diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	known := maps.Clone(config)
	maps.Copy(known, resolved)
	for event := range call(p, p.server.InvokeAction, tfprotov6.InvokeActionRequest{ActionType: name, Config: encode(schema, known)}).Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			diagnostics = append(diagnostics, e.Diagnostics...)
		}
	}
	return progress, diagnostics
}

// PlanAction plans an action, without validating it first: Terraform validates
// the values of variables as unknown.
func (p *Protocol) PlanAction(name string, config Object) Diagnostics {
	block := encode(p.schemas.ActionSchemas[name].Schema, config)
	return call(p, p.server.PlanAction, tfprotov6.PlanActionRequest{ActionType: name, Config: block}).Diagnostics
}

// Listed is one result of a list resource.
type Listed struct {
	DisplayName string
	Identity    Object
	Resource    Object // nil unless it was asked for
}

// List returns the results of a list resource. The test fails if there are more than limit.
func (p *Protocol) List(name string, config Object, limit int64, whole bool) (found []Listed, diagnostics Diagnostics) {
	p.t.Helper()
	block := encode(p.schemas.ListResourceSchemas[name], config)
	validated := tfprotov6.ValidateListResourceConfigRequest{TypeName: name, Config: block}
	diagnostics = call(p, p.server.ValidateListResourceConfig, validated).Diagnostics
	if diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	identity := call(p, p.server.GetResourceIdentitySchemas, tfprotov6.GetResourceIdentitySchemasRequest{}).IdentitySchemas[name].ValueType()
	listed := tfprotov6.ListResourceRequest{TypeName: name, Config: block, IncludeResource: whole, Limit: limit}
	for result := range call(p, p.server.ListResource, listed).Results {
		diagnostics = append(diagnostics, result.Diagnostics...)
		if result.Identity != nil {
			resource := decode(p.schemas.ResourceSchemas[name].ValueType(), result.Resource)
			found = append(found, Listed{result.DisplayName, decode(identity, result.Identity.IdentityData), resource})
		}
		if int64(len(found)) > limit {
			p.t.Fatalf("%s lists more than the %d results that were asked for", name, limit)
		}
	}
	return found, diagnostics
}

// Card is a vcard_card as Terraform's state holds it.
type Card struct {
	Values   Object // nil when it does not exist
	Private  []byte
	identity *tfprotov6.ResourceIdentityData
}

// Change is a planned change of a card; its Config is nil for a destruction.
type Change struct {
	Prior           Card
	Config, Planned Object
	Replaces        bool
	private         []byte
}

// Plan validates a configuration and plans the change from prior to it, nil to destroy.
func (p *Protocol) Plan(prior Card, config Object) (Change, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	proposed := maps.Clone(config) // and where it is silent on a computed attribute, the prior value
	var diagnostics Diagnostics
	if config != nil {
		validated := tfprotov6.ValidateResourceConfigRequest{TypeName: "vcard_card", Config: encode(schema, config)}
		diagnostics = call(p, p.server.ValidateResourceConfig, validated).Diagnostics
		if diagnostics.Errors() != "" {
			return Change{}, diagnostics
		}
		for _, attribute := range schema.Block.Attributes {
			if attribute.Computed && proposed[attribute.Name] == nil {
				proposed[attribute.Name] = prior.Values[attribute.Name]
			}
		}
	}
	planned := call(p, p.server.PlanResourceChange, tfprotov6.PlanResourceChangeRequest{
		TypeName: "vcard_card", Config: encode(schema, config), PriorPrivate: prior.Private, PriorIdentity: prior.identity,
		PriorState: encode(schema, prior.Values), ProposedNewState: encode(schema, proposed),
	})
	after := decode(schema.ValueType(), planned.PlannedState)
	return Change{prior, config, after, planned.RequiresReplace != nil, planned.PlannedPrivate}, append(diagnostics, planned.Diagnostics...)
}

// Apply makes a planned change.
func (p *Protocol) Apply(change Change) (Card, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	applied := call(p, p.server.ApplyResourceChange, tfprotov6.ApplyResourceChangeRequest{
		TypeName: "vcard_card", PriorState: encode(schema, change.Prior.Values), PlannedState: encode(schema, change.Planned),
		Config: encode(schema, change.Config), PlannedPrivate: change.private, PlannedIdentity: change.Prior.identity,
	})
	return Card{decode(schema.ValueType(), applied.NewState), applied.Private, applied.NewIdentity}, applied.Diagnostics
}

// Refresh reads a card anew.
func (p *Protocol) Refresh(known Card) (Card, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	read := call(p, p.server.ReadResource, tfprotov6.ReadResourceRequest{
		TypeName: "vcard_card", CurrentState: encode(schema, known.Values), Private: known.Private, CurrentIdentity: known.identity,
	})
	return Card{decode(schema.ValueType(), read.NewState), read.Private, read.NewIdentity}, read.Diagnostics
}

// must panics on an error. Failures of the provider are diagnostics, not errors.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Diagnostics are the diagnostics of a call.
type Diagnostics []*tfprotov6.Diagnostic

// Errors is the text of all errors, "" when there is none.
func (d Diagnostics) Errors() string { return d.text(tfprotov6.DiagnosticSeverityError) }

// Warnings is the text of all warnings, "" when there is none.
func (d Diagnostics) Warnings() string { return d.text(tfprotov6.DiagnosticSeverityWarning) }

// ExpectError fails the test unless there is an error with this title and then these values; "" if there must be none.
func (d Diagnostics) ExpectError(t testing.TB, title string, values ...string) {
	t.Helper()
	expect(t, "errors", d.Errors(), title, values)
}

// ExpectWarning fails the test unless there is a warning with this title and then these values; "" if there must be none.
func (d Diagnostics) ExpectWarning(t testing.TB, title string, values ...string) {
	t.Helper()
	expect(t, "warnings", d.Warnings(), title, values)
}

func expect(t testing.TB, kind, text, title string, values []string) {
	t.Helper()
	if title == "" {
		if text != "" {
			t.Errorf("want no %s, got %q", kind, text)
		}
	} else if !titled(title, values).MatchString(text) {
		t.Errorf("want %q and %q in the %s, got %q", title, values, kind, text)
	}
}

// Must fails the test when there is an error.
func (d Diagnostics) Must(t testing.TB) {
	t.Helper()
	if text := d.Errors(); text != "" {
		t.Fatal(text)
	}
}

func (d Diagnostics) text(severity tfprotov6.DiagnosticSeverity) string {
	var lines []string
	for _, one := range d {
		if one.Severity == severity {
			lines = append(lines, strings.TrimPrefix(one.Attribute.String()+": ", ": ")+one.Summary+": "+one.Detail)
		}
	}
	return strings.Join(lines, "\n")
}

// Object holds attributes: nil for null, Unknown, a bool, a string, a Number, a []any, or an
// Object. To send, one that is absent is null, and a number may be an int or a numeric string.
type Object = map[string]any

// Number is an exact decimal without trailing zeros: 50.10 is "50.1".
type Number string

// Unknown stands for an attribute that is known only after apply.
const Unknown = unknown("(known after apply)")

type unknown string

// encode returns a wire value, which is null if the Object is nil.
func encode(schema *tfprotov6.Schema, object Object) *tfprotov6.DynamicValue {
	known := maps.Clone(object)
	maps.DeleteFunc(known, func(_ string, one any) bool { return one == Unknown })
	value := must((&tfprotov6.DynamicValue{JSON: must(json.Marshal(known))}).Unmarshal(schema.ValueType()))
	value = must(tftypes.Transform(value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if steps := at.Steps(); len(steps) == 1 && object[fmt.Sprint(steps[0])] == Unknown {
			v = tftypes.NewValue(v.Type(), tftypes.UnknownValue)
		}
		return v, nil
	}))
	encoded := must(tfprotov6.NewDynamicValue(schema.ValueType(), value))
	return &encoded
}

// decode returns the attributes of a wire value, nil for null.
func decode(shape tftypes.Type, dynamic *tfprotov6.DynamicValue) Object {
	if dynamic == nil {
		return nil
	}
	attributes, _ := fromWire(must(dynamic.Unmarshal(shape))).(Object)
	return attributes
}

func fromWire(value tftypes.Value) any {
	var text string
	var truth bool
	var number big.Float
	var elements []tftypes.Value
	var fields map[string]tftypes.Value
	switch {
	case !value.IsKnown():
		return Unknown
	case value.IsNull():
		return nil
	case value.As(&text) == nil:
		return text
	case value.As(&truth) == nil:
		return truth
	case value.As(&number) == nil:
		return Number(number.Text('f', -1))
	case value.As(&elements) == nil:
		list := []any{}
		for _, element := range elements {
			list = append(list, fromWire(element))
		}
		return list
	}
	_ = value.As(&fields)
	object := Object{}
	for name, field := range fields {
		object[name] = fromWire(field)
	}
	return object
}
