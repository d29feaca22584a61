package webhook

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
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
		p.diags.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
		return
	case req.State.Raw.IsNull():
		p.register()
	default:
		imported, diags := req.Private.GetKey(ctx, importedKey)
		p.diags.Append(diags...)
		if string(imported) == "true" {
			p.adopt()
		} else {
			p.change(ctx)
		}
		resp.RequiresReplace = append(resp.RequiresReplace, p.replacement.Paths...)
		if len(p.replacement.Paths) > 0 {
			p.diags.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
		}
	}
	p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
}

type planner struct {
	config, state, plan model
	replacement         tfkit.Replacement
	diags               *diag.Diagnostics
}

// register plans a new endpoint. Its secret is in the state unless it is
// write-only; while it is unknown whether it is, so is the secret.
func (p *planner) register() {
	if p.config.Secret.IsNull() && isSet(p.config.SecretWO) {
		p.plan.Secret = types.StringNull()
	}
}

// adopt plans the configuration of an imported endpoint as what is registered.
func (p *planner) adopt() {
	p.plan.ID, p.plan.CreatedAt = p.state.ID, p.state.CreatedAt
	p.plan.Secret = p.config.Secret
	p.diags.Append(adopted(p.state))
}

func (p *planner) change(ctx context.Context) {
	c, s := p.config, p.state
	if !c.URL.Equal(s.URL) {
		p.replacement.Add(ctx, "url", c.URL)
	}
	if !c.Events.Equal(s.Events) {
		p.replacement.Add(ctx, "events", c.Events)
	}
	if !c.Secret.IsNull() && !c.Secret.Equal(s.Secret) {
		p.replacement.Add(ctx, "secret", c.Secret)
	}
	if !c.SecretWOVersion.Equal(s.SecretWOVersion) {
		p.replacement.Add(ctx, "secret_wo_version", c.SecretWOVersion)
	}
	if len(p.replacement.Paths) > 0 {
		p.diags.Append(replaced(s, c, &p.replacement))
		return
	}
	p.plan = s
}
