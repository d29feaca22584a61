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

// Protocol calls a configured provider in this process like Terraform does. It is for requests that the CLI under test
// may be too old to make. Like Terraform, it validates a configuration before it uses it. It is safe for concurrent use.
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

// Protocol configures a provider for this service. The provider block also gets more attributes, such as rate_limits.
func (s *Service) Protocol(more Object) *Protocol {
	s.T.Helper()
	config := Object{"base_url": s.URL, "api_key": s.Key}
	maps.Copy(config, more)
	return Configure(s.T, config)
}

// Configure configures a provider with a provider block, which must be valid.
func Configure(t testing.TB, config Object, options ...provider.Option) *Protocol {
	t.Helper()
	options = append([]provider.Option{provider.WithClock(new(Clock))}, options...)
	server := provider.NewServer("test", options...)()
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
	other := *p
	other.ctx = ctx
	return &other
}

// call calls a method. It panics on an error of the protocol itself.
func call[Request, Response any](p *Protocol, method func(context.Context, *Request) (*Response, error), request Request) *Response {
	return must(method(p.ctx, &request))
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

// InvokeAction plans and invokes an action and returns its progress messages. Resolved contains the values of attributes
// that are unknown in the plan.
func (p *Protocol) InvokeAction(name string, config, resolved Object) (progress []string, diagnostics Diagnostics) {
	schema := p.schemas.ActionSchemas[name].Schema
	validate := tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: encode(schema, config)}
	diagnostics = call(p, p.server.ValidateActionConfig, validate).Diagnostics
	diagnostics = append(diagnostics, p.PlanAction(name, config)...)
	if diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	known := maps.Clone(config)
	maps.Copy(known, resolved)
	invoke := tfprotov6.InvokeActionRequest{ActionType: name, Config: encode(schema, known)}
	for event := range call(p, p.server.InvokeAction, invoke).Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			diagnostics = append(diagnostics, e.Diagnostics...)
		}
	}
	return progress, diagnostics
}

// PlanAction plans an action without validating it first. Terraform would validate it with the values of variables
// unknown.
func (p *Protocol) PlanAction(name string, config Object) Diagnostics {
	block := encode(p.schemas.ActionSchemas[name].Schema, config)
	return call(p, p.server.PlanAction, tfprotov6.PlanActionRequest{ActionType: name, Config: block}).Diagnostics
}

// Listed is one result of a list resource.
type Listed struct {
	DisplayName string
	Identity    Object
	Resource    Object // nil unless it was requested
}

// List returns the results of a list resource, with their resources if includeResource is set. The test fails if there
// are more results than limit.
func (p *Protocol) List(name string, config Object, limit int64, includeResource bool) (found []Listed, diagnostics Diagnostics) {
	p.t.Helper()
	block := encode(p.schemas.ListResourceSchemas[name], config)
	validate := tfprotov6.ValidateListResourceConfigRequest{TypeName: name, Config: block}
	diagnostics = call(p, p.server.ValidateListResourceConfig, validate).Diagnostics
	if diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	identities := call(p, p.server.GetResourceIdentitySchemas, tfprotov6.GetResourceIdentitySchemasRequest{})
	identity := identities.IdentitySchemas[name].ValueType()
	list := tfprotov6.ListResourceRequest{TypeName: name, Config: block, IncludeResource: includeResource, Limit: limit}
	for result := range call(p, p.server.ListResource, list).Results {
		diagnostics = append(diagnostics, result.Diagnostics...)
		if result.Identity != nil {
			resource := decode(p.schemas.ResourceSchemas[name].ValueType(), result.Resource)
			found = append(found, Listed{result.DisplayName, decode(identity, result.Identity.IdentityData), resource})
		}
		if int64(len(found)) > limit {
			p.t.Fatalf("%s lists more results than the limit of %d", name, limit)
		}
	}
	return found, diagnostics
}

// Card is a vcard_card in Terraform's state.
type Card struct {
	Values   Object // nil if the card does not exist
	Private  []byte
	identity *tfprotov6.ResourceIdentityData
}

// Change is a planned change of a card. Its Config is nil if the card is destroyed.
type Change struct {
	Prior           Card
	Config, Planned Object
	Replaces        bool
	private         []byte
}

// Plan validates a configuration and plans the change from prior to it. A nil configuration destroys the card.
func (p *Protocol) Plan(prior Card, config Object) (Change, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	var diagnostics Diagnostics
	proposed := maps.Clone(config)
	if config != nil {
		validate := tfprotov6.ValidateResourceConfigRequest{TypeName: "vcard_card", Config: encode(schema, config)}
		diagnostics = call(p, p.server.ValidateResourceConfig, validate).Diagnostics
		if diagnostics.Errors() != "" {
			return Change{}, diagnostics
		}
		// Terraform proposes the prior value of a computed attribute that the configuration does not set.
		for _, attribute := range schema.Block.Attributes {
			if attribute.Computed && proposed[attribute.Name] == nil {
				proposed[attribute.Name] = prior.Values[attribute.Name]
			}
		}
	}
	planned := call(p, p.server.PlanResourceChange, tfprotov6.PlanResourceChangeRequest{
		TypeName:         "vcard_card",
		Config:           encode(schema, config),
		PriorState:       encode(schema, prior.Values),
		PriorPrivate:     prior.Private,
		PriorIdentity:    prior.identity,
		ProposedNewState: encode(schema, proposed),
	})
	change := Change{
		Prior:    prior,
		Config:   config,
		Planned:  decode(schema.ValueType(), planned.PlannedState),
		Replaces: planned.RequiresReplace != nil,
		private:  planned.PlannedPrivate,
	}
	return change, append(diagnostics, planned.Diagnostics...)
}

// Apply makes a planned change.
func (p *Protocol) Apply(change Change) (Card, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	applied := call(p, p.server.ApplyResourceChange, tfprotov6.ApplyResourceChangeRequest{
		TypeName:        "vcard_card",
		Config:          encode(schema, change.Config),
		PriorState:      encode(schema, change.Prior.Values),
		PlannedState:    encode(schema, change.Planned),
		PlannedPrivate:  change.private,
		PlannedIdentity: change.Prior.identity,
	})
	return Card{decode(schema.ValueType(), applied.NewState), applied.Private, applied.NewIdentity}, applied.Diagnostics
}

// Refresh reads a card again.
func (p *Protocol) Refresh(known Card) (Card, Diagnostics) {
	schema := p.schemas.ResourceSchemas["vcard_card"]
	read := call(p, p.server.ReadResource, tfprotov6.ReadResourceRequest{
		TypeName:        "vcard_card",
		CurrentState:    encode(schema, known.Values),
		Private:         known.Private,
		CurrentIdentity: known.identity,
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

// Errors returns the text of all errors, or "" if there are none.
func (d Diagnostics) Errors() string { return d.text(tfprotov6.DiagnosticSeverityError) }

// Warnings returns the text of all warnings, or "" if there are none.
func (d Diagnostics) Warnings() string { return d.text(tfprotov6.DiagnosticSeverityWarning) }

// ExpectError fails the test unless there is an error with this title, followed by these values. The title "" means
// that there must be no error.
func (d Diagnostics) ExpectError(t testing.TB, title string, values ...string) {
	t.Helper()
	expect(t, "errors", d.Errors(), title, values)
}

// ExpectWarning fails the test unless there is a warning with this title, followed by these values. The title "" means
// that there must be no warning.
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

// Must fails the test if there is an error.
func (d Diagnostics) Must(t testing.TB) {
	t.Helper()
	text := d.Errors()
	if text != "" {
		t.Fatal(text)
	}
}

func (d Diagnostics) text(severity tfprotov6.DiagnosticSeverity) string {
	var lines []string
	for _, diagnostic := range d {
		if diagnostic.Severity != severity {
			continue
		}
		line := diagnostic.Summary + ": " + diagnostic.Detail
		attribute := diagnostic.Attribute.String()
		if attribute != "" {
			line = attribute + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Object contains attributes: nil for null, Unknown, a bool, a string, a Number, a []any, or an Object. In a request, a
// missing attribute is null, and a number may also be an int or a numeric string.
type Object = map[string]any

// Number is an exact decimal without trailing zeros: 50.10 is "50.1".
type Number string

// Unknown stands for an attribute that is known only after apply.
const Unknown = unknown("(known after apply)")

type unknown string

// encode returns a wire value, which is null if the Object is nil.
func encode(schema *tfprotov6.Schema, object Object) *tfprotov6.DynamicValue {
	known := maps.Clone(object)
	maps.DeleteFunc(known, func(_ string, value any) bool { return value == Unknown })
	value := must((&tfprotov6.DynamicValue{JSON: must(json.Marshal(known))}).Unmarshal(schema.ValueType()))
	value = must(tftypes.Transform(value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := at.Steps()
		if len(steps) == 1 && object[fmt.Sprint(steps[0])] == Unknown {
			return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
		}
		return v, nil
	}))
	encoded := must(tfprotov6.NewDynamicValue(schema.ValueType(), value))
	return &encoded
}

// decode returns the attributes of a wire value, or nil for null.
func decode(objectType tftypes.Type, dynamic *tfprotov6.DynamicValue) Object {
	if dynamic == nil {
		return nil
	}
	attributes, _ := fromWire(must(dynamic.Unmarshal(objectType))).(Object)
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
