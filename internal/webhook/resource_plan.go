package webhook

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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
	creates, ends := req.State.Raw.IsNull(), req.Plan.Raw.IsNull()
	if !creates {
		p.diags.Append(req.State.Get(ctx, &p.state)...)
	}
	if !ends {
		p.diags.Append(req.Config.Get(ctx, &p.config)...)
		p.diags.Append(req.Plan.Get(ctx, &p.plan)...)
	}
	if p.diags.HasError() {
		return
	}
	switch {
	case ends:
		p.diags.Append(staysRegistered(p.state))
	case creates:
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
	}
	if ends || len(p.replacement.Paths) > 0 {
		p.diags.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
	}
	if !ends {
		p.diags.Append(resp.Plan.Set(ctx, p.plan)...)
	}
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
	for _, fixed := range []struct {
		name        string
		wanted, has attr.Value
	}{{"url", c.URL, s.URL}, {"events", c.Events, s.Events}, {"secret", c.Secret, s.Secret}, {"secret_wo_version", c.SecretWOVersion, s.SecretWOVersion}} {
		kept := fixed.name == "secret" && fixed.wanted.IsNull()
		if !kept && !fixed.wanted.Equal(fixed.has) {
			p.replacement.Add(ctx, fixed.name, fixed.wanted)
		}
	}
	if len(p.replacement.Paths) > 0 {
		p.diags.Append(replaced(s, c, &p.replacement))
		return
	}
	p.plan = s
}

func staysRegistered(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic(fmt.Sprintf("Webhook endpoint %s stays registered", endpoint.ID.ValueString()),
		fmt.Sprintf("The service cannot remove an endpoint, so Terraform only forgets it. It goes on receiving events%s until it is removed in the dashboard: remove %s there.",
			endpoint.where(), endpoint.ID.ValueString()))
}

func replaced(old, next model, reasons *tfkit.Replacement) diag.Diagnostic {
	text := fmt.Sprintf("The service cannot change an endpoint, and %s changed. A new endpoint is registered. The old one goes on receiving events%s until it is removed in the dashboard: remove %s there after apply, or events arrive twice.",
		reasons.Attributes(), old.where(), old.ID.ValueString())
	if next.Secret.IsNull() && next.SecretWO.IsNull() {
		text += " The new endpoint signs with a newly generated secret."
	}
	return diag.NewWarningDiagnostic(fmt.Sprintf("Webhook endpoint %s is replaced and stays registered", old.ID.ValueString()), text+reasons.UnknownAdvice("endpoint"))
}

func adopted(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic(fmt.Sprintf("The configuration of %s is taken over without proof", endpoint.name()),
		"The endpoint was imported, and the service cannot show what it is registered with. The configured url, events and secret go into the state as they are, and nothing is sent: "+
			"a secret that is set has to be the one that the endpoint has. Later changes register a new endpoint.")
}

func possibleDuplicate(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A second webhook endpoint may have been registered",
		fmt.Sprintf("While %s was registered, a response of the service was lost and the request was sent again. If the service took both, a second endpoint%s receives the same events, signed with another secret unless one was configured. "+
			"Look in the dashboard, and remove there the one that is not %s.", endpoint.name(), endpoint.where(), endpoint.ID.ValueString()))
}
