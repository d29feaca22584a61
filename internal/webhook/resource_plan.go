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
	var config, state, plan model
	creates, ends := req.State.Raw.IsNull(), req.Plan.Raw.IsNull()
	if !creates {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if !ends {
		resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
		resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case ends:
		resp.Diagnostics.Append(staysRegistered(state))
	case creates:
		// A write-only secret is not in the state; while it is unknown whether it is one, so is the secret.
		if config.Secret.IsNull() && isSet(config.SecretWO) {
			plan.Secret = types.StringNull()
		}
	default:
		imported, diags := req.Private.GetKey(ctx, importedKey)
		resp.Diagnostics.Append(diags...)
		if string(imported) == "true" { // the configuration counts as what is registered
			plan.ID, plan.CreatedAt, plan.Secret = state.ID, state.CreatedAt, config.Secret
			resp.Diagnostics.Append(adopted(state))
			break
		}
		changed := changes(ctx, config, state)
		if len(changed.Paths) > 0 {
			resp.Diagnostics.Append(replaced(state, config, changed))
		} else {
			plan = state
		}
		resp.RequiresReplace = changed.Paths
	}
	if ends || len(resp.RequiresReplace) > 0 {
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
	}
	if !ends {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	}
}

// changes are the attributes for which an endpoint is replaced.
func changes(ctx context.Context, config, state model) *tfkit.Replacement {
	changed := &tfkit.Replacement{}
	for _, fixed := range []struct {
		name        string
		wanted, has attr.Value
	}{
		{"url", config.URL, state.URL}, {"events", config.Events, state.Events},
		{"secret", config.Secret, state.Secret}, {"secret_wo_version", config.SecretWOVersion, state.SecretWOVersion},
	} {
		kept := fixed.name == "secret" && fixed.wanted.IsNull()
		if !kept && !fixed.wanted.Equal(fixed.has) {
			changed.Add(ctx, fixed.name, fixed.wanted)
		}
	}
	return changed
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
