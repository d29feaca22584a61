package acctest

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Instance is a resource as Terraform's state holds it.
type Instance struct {
	Type     string
	Values   Object // nil when it does not exist
	Identity Object // nil when the provider set none
	Private  []byte
}

// Change is a planned change of a resource.
type Change struct {
	Prior    Instance
	Config   Object // nil for a destruction
	Planned  Object
	Replaces []string // attributes that make Terraform replace the resource
	private  []byte
	identity *tfprotov6.ResourceIdentityData
}

// Plan validates a configuration and plans the change from prior to it, as
// Terraform does once. A nil configuration plans the destruction. Of a change
// that replaces, Terraform plans the creation as well, and does not validate again:
// plan an Instance without Values, and with the Private of the first plan.
func (p *Protocol) Plan(prior Instance, config Object) (Change, Diagnostics) {
	p.t.Helper()
	schema := p.schemas.ResourceSchemas[prior.Type]
	shape := p.shape(schema, prior.Type)
	change := Change{Prior: prior, Config: config}
	var diagnostics Diagnostics
	if config != nil && (prior.Values != nil || prior.Private == nil) {
		validated := call(p, p.server.ValidateResourceConfig, tfprotov6.ValidateResourceConfigRequest{
			TypeName: prior.Type, Config: p.encode(shape, config),
			ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
		})
		if diagnostics = validated.Diagnostics; diagnostics.Errors() != "" {
			return change, diagnostics
		}
	}
	planned := call(p, p.server.PlanResourceChange, tfprotov6.PlanResourceChangeRequest{
		TypeName:         prior.Type,
		PriorState:       p.encode(shape, prior.Values),
		ProposedNewState: p.encode(shape, proposed(schema, prior.Values, config)),
		Config:           p.encode(shape, config),
		PriorPrivate:     prior.Private,
		PriorIdentity:    p.encodeIdentity(prior),
	})
	change.Planned = p.decode(shape, planned.PlannedState)
	change.private, change.identity = planned.PlannedPrivate, planned.PlannedIdentity
	for _, path := range planned.RequiresReplace {
		if name, ok := path.Steps()[0].(tftypes.AttributeName); ok {
			change.Replaces = append(change.Replaces, string(name))
		}
	}
	slices.Sort(change.Replaces)
	return change, append(diagnostics, planned.Diagnostics...)
}

// Apply makes a planned change. Resolved holds the values of attributes that
// the plan's configuration did not know.
func (p *Protocol) Apply(change Change, resolved Object) (Instance, Diagnostics) {
	p.t.Helper()
	schema := p.schemas.ResourceSchemas[change.Prior.Type]
	shape := p.shape(schema, change.Prior.Type)
	applied := call(p, p.server.ApplyResourceChange, tfprotov6.ApplyResourceChangeRequest{
		TypeName:        change.Prior.Type,
		PriorState:      p.encode(shape, change.Prior.Values),
		PlannedState:    p.encode(shape, with(change.Planned, resolved)),
		Config:          p.encode(shape, with(change.Config, resolved)),
		PlannedPrivate:  change.private,
		PlannedIdentity: change.identity,
	})
	return p.instance(change.Prior.Type, applied.NewState, applied.NewIdentity, applied.Private), applied.Diagnostics
}

// Refresh reads a resource anew.
func (p *Protocol) Refresh(known Instance) (Instance, Diagnostics) {
	p.t.Helper()
	shape := p.shape(p.schemas.ResourceSchemas[known.Type], known.Type)
	read := call(p, p.server.ReadResource, tfprotov6.ReadResourceRequest{
		TypeName: known.Type, CurrentState: p.encode(shape, known.Values), Private: known.Private, CurrentIdentity: p.encodeIdentity(known),
	})
	return p.instance(known.Type, read.NewState, read.NewIdentity, read.Private), read.Diagnostics
}

// Import imports by id or, when the id is "", by identity, and refreshes what
// came of it, as Terraform does.
func (p *Protocol) Import(name, id string, identity Object) (Instance, Diagnostics) {
	p.t.Helper()
	imported := call(p, p.server.ImportResourceState, tfprotov6.ImportResourceStateRequest{
		TypeName: name, ID: id, Identity: p.encodeIdentity(Instance{Type: name, Identity: identity}),
	})
	if Diagnostics(imported.Diagnostics).Errors() != "" || len(imported.ImportedResources) == 0 {
		return Instance{Type: name}, imported.Diagnostics
	}
	one := imported.ImportedResources[0]
	refreshed, diagnostics := p.Refresh(p.instance(name, one.State, one.Identity, one.Private))
	return refreshed, append(imported.Diagnostics, diagnostics...)
}

// After is the instance that the second plan of a replacement starts from.
func (c Change) After() Instance { return Instance{Type: c.Prior.Type, Private: c.private} }

func (p *Protocol) instance(name string, state *tfprotov6.DynamicValue, identity *tfprotov6.ResourceIdentityData, private []byte) Instance {
	p.t.Helper()
	i := Instance{Type: name, Values: p.decode(p.schemas.ResourceSchemas[name].ValueType(), state), Private: private}
	if identity != nil {
		i.Identity = p.decode(p.identities[name].ValueType(), identity.IdentityData)
	}
	return i
}

func (p *Protocol) encodeIdentity(i Instance) *tfprotov6.ResourceIdentityData {
	p.t.Helper()
	if i.Identity == nil {
		return nil
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: p.encode(p.identities[i.Type].ValueType(), i.Identity)}
}

// proposed is what Terraform proposes to the provider: the configuration, and
// where that is silent on a computed attribute the prior value.
func proposed(schema *tfprotov6.Schema, prior, config Object) Object {
	if config == nil {
		return nil
	}
	next := Object{}
	for _, attribute := range schema.Block.Attributes {
		switch written := config[attribute.Name]; {
		case attribute.WriteOnly:
		case written != nil:
			next[attribute.Name] = written
		case attribute.Computed:
			next[attribute.Name] = prior[attribute.Name]
		}
	}
	return next
}

func with(values, resolved Object) Object {
	if values == nil {
		return nil
	}
	merged := Object{}
	for name, value := range values {
		if now, has := resolved[name]; has {
			value = now
		}
		merged[name] = value
	}
	return merged
}
