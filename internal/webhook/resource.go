// Package webhook is all that HCL can say about webhook endpoints.
package webhook

import (
	"context"
	"fmt"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// What Terraform's private state says of an endpoint.
const (
	// importedKey marks one that was imported and whose configuration has not been adopted yet.
	importedKey = "imported"
	// warnedKey marks one of which the plan has said that it stays registered.
	warnedKey = "warned"
)

type webhookResource struct {
	session *session.Session
}

var (
	_ resource.ResourceWithConfigure      = (*webhookResource)(nil)
	_ resource.ResourceWithIdentity       = (*webhookResource)(nil)
	_ resource.ResourceWithImportState    = (*webhookResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*webhookResource)(nil)
	_ resource.ResourceWithValidateConfig = (*webhookResource)(nil)
)

// NewResource makes the resource vcard_webhook.
func NewResource() resource.Resource { return &webhookResource{} }

func (r *webhookResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_webhook"
}

func (r *webhookResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (r *webhookResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "register a webhook endpoint") {
		return
	}
	request := api.WebhookRequest{URL: plan.URL.ValueString(), Secret: config.signingSecret()}
	resp.Diagnostics.Append(plan.Events.ElementsAs(ctx, &request.Events, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	registered, err := r.session.Client.RegisterWebhook(ctx, request)
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("register a webhook endpoint"+plan.where(), err))
		return
	}
	state := plan
	state.fromAPI(registered.Webhook, !config.SecretWO.IsNull(), &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
	if registered.MayHaveDuplicate {
		resp.Diagnostics.AddWarning("A second webhook endpoint may have been registered",
			fmt.Sprintf("While %s was registered, a response of the service was lost and the request was sent again. If the service took both, a second endpoint%s receives the same events, signed with another secret unless one was configured. "+
				"Look in the dashboard, and remove there the one that is not %s.", state.name(), state.where(), state.ID.ValueString()))
	} else {
		resp.Diagnostics.Append(session.LostResponseWarning("register "+state.name(), registered.LostResponse)...)
	}
}

// Read keeps the state, since the service cannot be asked about an endpoint.
func (r *webhookResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
}

// Update adopts the configuration of an imported endpoint: every other change replaces.
func (r *webhookResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), plan.ID)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte("false"))...)
}

// Delete takes the endpoint out of the state. It warns where the plan has not: of
// a tainted endpoint the plan knows nothing.
func (r *webhookResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warned, diags := req.Private.GetKey(ctx, warnedKey)
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() && string(warned) != "true" {
		resp.Diagnostics.Append(staysRegistered(state))
	}
}

// ImportState accepts any id of the documented form, since there is no way to look it up.
func (r *webhookResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := tfkit.ImportID(ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if !tfkit.IsWebhookID(id) {
		resp.Diagnostics.AddError("Not a webhook endpoint id",
			fmt.Sprintf("A webhook endpoint is imported by its id, which has the form wh_…, got %q. The dashboard shows the ids.", id))
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte("true"))...)
}

type model struct {
	ID              types.String      `tfsdk:"id"`
	URL             types.String      `tfsdk:"url"`
	Events          types.Set         `tfsdk:"events"`
	Secret          types.String      `tfsdk:"secret"`
	SecretWO        types.String      `tfsdk:"secret_wo"`
	SecretWOVersion types.Number      `tfsdk:"secret_wo_version"`
	CreatedAt       timetypes.RFC3339 `tfsdk:"created_at"`
}

// signingSecret is the configured one, "" to have one generated.
func (m model) signingSecret() transport.Secret {
	if !m.SecretWO.IsNull() {
		return transport.Secret(m.SecretWO.ValueString())
	}
	return transport.Secret(m.Secret.ValueString())
}

// fromAPI fills in what the service decided. A write-only secret stays out.
func (m *model) fromAPI(w api.Webhook, secretIsWriteOnly bool, diags *diag.Diagnostics) {
	m.ID = types.StringValue(w.ID)
	switch {
	case secretIsWriteOnly:
		m.Secret = types.StringNull()
	case m.Secret.IsUnknown():
		m.Secret = types.StringValue(w.Secret.Reveal())
	}
	m.CreatedAt = tfkit.CreatedAt(w.CreatedAt, m.name(), diags)
}

func (m model) name() string { return "webhook endpoint " + m.ID.ValueString() }

// where tells the endpoint's host and no more: paths and queries of webhook
// addresses often hold tokens.
func (m model) where() string {
	u, err := url.Parse(m.URL.ValueString())
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return " at " + u.Hostname()
}

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
			resp.Diagnostics.AddWarning("The configuration of "+state.name()+" is taken over without proof",
				"The endpoint was imported, and the service cannot show what it is registered with. The configured url, events and secret go into the state as they are, and nothing is sent: "+
					"a secret that is set has to be the one that the endpoint has. Later changes register a new endpoint.")
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

func changes(ctx context.Context, config, state model) *tfkit.Replacement {
	changed := &tfkit.Replacement{}
	for _, fixed := range []struct {
		name        string
		wanted, has attr.Value
	}{
		{"url", config.URL, state.URL},
		{"events", config.Events, state.Events},
		{"secret", config.Secret, state.Secret},
		{"secret_wo_version", config.SecretWOVersion, state.SecretWOVersion},
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
