package webhook

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ModifyPlan decides what replaces, and says at plan time which endpoint stays
// registered. Core plans a replacement twice, the second time as a creation
// whose warnings it drops, so the warning comes with the first.
func (r *webhookResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	p := planner{diags: &resp.Diagnostics}
	if !req.State.Raw.IsNull() {
		p.diags.Append(req.State.Get(ctx, &p.state)...)
	}
	if !req.Plan.Raw.IsNull() {
		p.diags.Append(req.Config.Get(ctx, &p.config)...)
		p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	}
	if p.diags.HasError() {
		return
	}
	switch {
	case req.Plan.Raw.IsNull():
		p.diags.Append(staysRegistered(p.state))
		return
	case req.State.Raw.IsNull():
		p.register()
	default:
		imported, diags := req.Private.GetKey(ctx, importedKey)
		p.diags.Append(diags...)
		if string(imported) == "true" {
			p.adopt()
		} else {
			p.change()
		}
		resp.RequiresReplace = append(resp.RequiresReplace, p.replace...)
	}
	p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
}

// planner works out the plan of one endpoint.
type planner struct {
	config, state, plan model
	replace             path.Paths
	diags               *diag.Diagnostics
}

// register plans a new endpoint. Its secret is in the state unless it is
// write-only; while it is unknown whether it is, so is the secret.
func (p *planner) register() {
	if p.config.Secret.IsNull() && written(p.config.SecretWO) {
		p.plan.Secret = types.StringNull()
	}
}

// adopt takes the configuration of an imported endpoint for what is registered.
func (p *planner) adopt() {
	p.plan.ID, p.plan.CreatedAt = p.state.ID, p.state.CreatedAt
	p.plan.Secret = p.config.Secret
	p.diags.Append(takenOver(p.state))
}

// change plans no change, or a replacement.
func (p *planner) change() {
	c, s := p.config, p.state
	if !c.URL.Equal(s.URL) {
		p.replaceFor("url")
	}
	if !c.Events.Equal(s.Events) {
		p.replaceFor("events")
	}
	if !c.Secret.IsNull() && !c.Secret.Equal(s.Secret) {
		p.replaceFor("secret")
	}
	if !c.SecretWOVersion.Equal(s.SecretWOVersion) {
		p.replaceFor("secret_wo_version")
	}
	if len(p.replace) > 0 {
		p.diags.Append(replacement(s, c, p.replace))
		return
	}
	p.plan = s
}

func (p *planner) replaceFor(attribute string) {
	p.replace = append(p.replace, path.Root(attribute))
}
