package acctest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
	"github.com/hashicorp/terraform-plugin-log/tfsdklogtest"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

// Protocol speaks to a configured provider in this process as Terraform does,
// for what the CLI under test may be too old to ask. It is safe for concurrent
// use. Calls that Terraform precedes with a validation are validated first.
type Protocol struct {
	t          testing.TB
	ctx        context.Context
	server     protocolServer
	schemas    *tfprotov6.GetProviderSchemaResponse
	identities map[string]*tfprotov6.ResourceIdentitySchema
	log        *logBuffer
}

type protocolServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	io.Closer
}

// Protocol configures a provider for this service; more adds to its provider
// block, such as rate_limits.
func (s *Service) Protocol(more Object) *Protocol {
	s.T.Helper()
	config := Object{"base_url": s.URL, "api_key": s.Key}
	maps.Copy(config, more)
	return Configure(s.T, config)
}

// Configure configures a provider with this provider block, which may hold
// Unknown. The test fails when the provider refuses it.
func Configure(t testing.TB, config Object, options ...provider.Option) *Protocol {
	t.Helper()
	p := &Protocol{t: t, log: &logBuffer{}}
	p.ctx = tfsdklogtest.RootLogger(tflogtest.RootLogger(t.Context(), p.log), p.log)
	options = append([]provider.Option{provider.WithClock(new(Clock))}, options...)
	server := provider.NewServer("test", options...)()
	var ok bool
	if p.server, ok = server.(protocolServer); !ok {
		t.Fatalf("%T serves no list resources or no actions, or cannot be closed", server)
	}
	t.Cleanup(func() { _ = p.server.Close() })
	p.schemas = call(p, server.GetProviderSchema, tfprotov6.GetProviderSchemaRequest{})
	identities := call(p, server.GetResourceIdentitySchemas, tfprotov6.GetResourceIdentitySchemasRequest{})
	p.identities = identities.IdentitySchemas
	block := p.encode(p.schemas.Provider.ValueType(), config)
	validated := call(p, server.ValidateProviderConfig, tfprotov6.ValidateProviderConfigRequest{Config: block})
	configured := call(p, server.ConfigureProvider, tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.14.0", Config: block})
	for _, problems := range []Diagnostics{p.schemas.Diagnostics, identities.Diagnostics, validated.Diagnostics, configured.Diagnostics} {
		problems.Must(t)
	}
	return p
}

// call makes a call, which must not fail by itself.
func call[Request, Response any](p *Protocol, to func(context.Context, *Request) (*Response, error), request Request) *Response {
	p.t.Helper()
	response, err := to(p.ctx, &request)
	p.check(err)
	return response
}

// Interrupt asks the provider to stop, as Terraform does when it is interrupted.
func (p *Protocol) Interrupt() {
	p.t.Helper()
	call(p, p.server.StopProvider, tfprotov6.StopProviderRequest{})
}

// Log is what the provider has logged so far, at level TRACE.
func (p *Protocol) Log() string { return p.log.String() }

// Caller speaks to the same provider, and hangs up on it when it is told to.
func (p *Protocol) Caller() (caller *Protocol, hangUp context.CancelFunc) {
	own := *p
	own.ctx, hangUp = context.WithCancel(p.ctx)
	return &own, hangUp
}

// ReadDataSource returns the attributes of a data source.
func (p *Protocol) ReadDataSource(name string, config Object) (Object, Diagnostics) {
	p.t.Helper()
	shape := p.shape(p.schemas.DataSourceSchemas[name], name)
	block := p.encode(shape, config)
	validated := call(p, p.server.ValidateDataResourceConfig, tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: block})
	if refused := Diagnostics(validated.Diagnostics); refused.Errors() != "" {
		return nil, refused
	}
	read := call(p, p.server.ReadDataSource, tfprotov6.ReadDataSourceRequest{TypeName: name, Config: block})
	return p.decode(shape, read.State), append(validated.Diagnostics, read.Diagnostics...)
}

// InvokeAction plans and invokes an action and returns its progress messages.
// Resolved holds the values of attributes that the plan did not know.
func (p *Protocol) InvokeAction(name string, config, resolved Object) (progress []string, diagnostics Diagnostics) {
	p.t.Helper()
	shape := p.shape(p.schemas.ActionSchemas[name].Schema, name)
	validated := call(p, p.server.ValidateActionConfig, tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: p.encode(shape, config)})
	if diagnostics = validated.Diagnostics; diagnostics.Errors() == "" {
		diagnostics = append(diagnostics, p.PlanAction(name, config)...)
	}
	if diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	invoked := tfprotov6.InvokeActionRequest{ActionType: name, Config: p.encode(shape, with(config, resolved))}
	for event := range call(p, p.server.InvokeAction, invoked).Events {
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
	p.t.Helper()
	block := p.encode(p.shape(p.schemas.ActionSchemas[name].Schema, name), config)
	return call(p, p.server.PlanAction, tfprotov6.PlanActionRequest{ActionType: name, Config: block}).Diagnostics
}

// Listed is one result of a list resource.
type Listed struct {
	DisplayName string
	Identity    Object
	Resource    Object // nil unless it was asked for
}

// List returns what a list resource finds. Limit is what Terraform asks for at
// most; a provider that streams more fails the test.
func (p *Protocol) List(name string, config Object, limit int64, whole bool) (found []Listed, diagnostics Diagnostics) {
	p.t.Helper()
	block := p.encode(p.shape(p.schemas.ListResourceSchemas[name], name), config)
	validated := call(p, p.server.ValidateListResourceConfig, tfprotov6.ValidateListResourceConfigRequest{
		TypeName: name, Config: block, IncludeResourceObject: p.encode(tftypes.Bool, whole), Limit: p.encode(tftypes.Number, limit),
	})
	if diagnostics = validated.Diagnostics; diagnostics.Errors() != "" {
		return nil, diagnostics
	}
	listed := tfprotov6.ListResourceRequest{TypeName: name, Config: block, IncludeResource: whole, Limit: limit}
	for result := range call(p, p.server.ListResource, listed).Results {
		if diagnostics = append(diagnostics, result.Diagnostics...); result.Identity == nil {
			continue
		}
		one := Listed{DisplayName: result.DisplayName, Identity: p.decode(p.identities[name].ValueType(), result.Identity.IdentityData)}
		one.Resource = p.decode(p.schemas.ResourceSchemas[name].ValueType(), result.Resource)
		if found = append(found, one); int64(len(found)) > limit {
			p.t.Errorf("%s lists more than the %d results that were asked for", name, limit)
			break
		}
	}
	return found, diagnostics
}

// shape is the type of a block with this schema.
func (p *Protocol) shape(schema *tfprotov6.Schema, name string) tftypes.Type {
	p.t.Helper()
	if schema == nil {
		p.t.Fatalf("the provider has no %s of this kind", name)
	}
	return schema.ValueType()
}

func (p *Protocol) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Diagnostics are what a call said to the user.
type Diagnostics []*tfprotov6.Diagnostic

// Errors is the text of all errors, "" when there is none.
func (d Diagnostics) Errors() string { return d.text(tfprotov6.DiagnosticSeverityError) }

// Warnings is the text of all warnings, "" when there is none.
func (d Diagnostics) Warnings() string { return d.text(tfprotov6.DiagnosticSeverityWarning) }

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
		if one.Severity != severity {
			continue
		}
		line := one.Summary + ": " + one.Detail
		if one.Attribute != nil {
			line = one.Attribute.String() + ": " + line
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// logBuffer is written by several loggers at once.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(data)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
