// Package webhook contains the Terraform types for webhook endpoints.
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

// Keys of Terraform's private state. A mark is set if the value is "true".
const (
	// importedKey marks an imported endpoint whose configuration has not been adopted yet.
	importedKey = "imported"
	// warnedKey marks an endpoint whose plan has already warned that it stays registered.
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
	const allowUnhandled = false // a null or unknown element is an error
	resp.Diagnostics.Append(plan.Events.ElementsAs(ctx, &request.Events, allowUnhandled)...)
	if resp.Diagnostics.HasError() {
		return
	}
	registered, err := r.session.Client.RegisterWebhook(ctx, request)
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("register a webhook endpoint"+plan.hostSuffix(), err))
		return
	}
	state := plan
	secretIsWriteOnly := !config.SecretWO.IsNull()
	state.setFromAPI(registered.Webhook, secretIsWriteOnly, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
	lostResponse := registered.How.LostResponse()
	if r.session.Client.KeysHonoured() { // then a second request registers no second endpoint
		resp.Diagnostics.Append(session.LostResponseWarning("register "+state.name(), lostResponse)...)
		return
	}
	if lostResponse {
		resp.Diagnostics.AddWarning("Possible duplicate webhook endpoint",
			fmt.Sprintf("While %s was being registered, a response was lost or unusable, so the provider sent the request again. "+
				"If the service accepted both requests, a second endpoint%s receives the same events. "+
				"Check the dashboard. If it shows a second endpoint, remove that one, and keep %s.", state.name(), state.hostSuffix(), state.ID.ValueString()))
	}
}

// Read keeps the state, because the service cannot show an endpoint.
func (r *webhookResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var id types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("id"), &id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
}

// Update adopts the configuration of an imported endpoint. Other changes replace the endpoint; see ModifyPlan.
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

// Delete removes the endpoint from the state. It warns if no plan has warned, for example because Terraform replaces a
// tainted endpoint without planning its removal.
func (r *webhookResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	warned, diags := req.Private.GetKey(ctx, warnedKey)
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() && string(warned) != "true" {
		resp.Diagnostics.Append(removalWarning(state))
	}
}

// ImportState accepts any id of the documented form, because the service cannot show an endpoint.
func (r *webhookResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := tfkit.ImportID(ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if !tfkit.IsWebhookID(id) {
		resp.Diagnostics.AddError("Invalid webhook endpoint id",
			fmt.Sprintf("The id of a webhook endpoint must have the form wh_…, got %q. The dashboard shows the ids.", id))
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), id)...)
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), id)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, importedKey, []byte("true"))...)
}

// model is the configuration, the plan or the state of an endpoint.
type model struct {
	ID              types.String      `tfsdk:"id"`
	URL             types.String      `tfsdk:"url"`
	Events          types.Set         `tfsdk:"events"`
	Secret          types.String      `tfsdk:"secret"`
	SecretWO        types.String      `tfsdk:"secret_wo"`
	SecretWOVersion types.Number      `tfsdk:"secret_wo_version"`
	CreatedAt       timetypes.RFC3339 `tfsdk:"created_at"`
}

// signingSecret returns the configured secret, or "" if the service should generate one.
func (m model) signingSecret() transport.Secret {
	if !m.SecretWO.IsNull() {
		return transport.Secret(m.SecretWO.ValueString())
	}
	return transport.Secret(m.Secret.ValueString())
}

// setFromAPI sets the attributes that the service decides. It leaves out a write-only secret.
func (m *model) setFromAPI(w api.Webhook, secretIsWriteOnly bool, diags *diag.Diagnostics) {
	m.ID = types.StringValue(w.ID)
	if secretIsWriteOnly {
		m.Secret = types.StringNull()
	} else if m.Secret.IsUnknown() {
		m.Secret = types.StringValue(w.Secret.Reveal())
	}
	m.CreatedAt = tfkit.CreatedAt(w.CreatedAt, m.name(), diags)
}

func (m model) name() string { return "webhook endpoint " + m.ID.ValueString() }

// hostSuffix returns " at" and the endpoint's host, or "" if the address has no host. It leaves out path and query, which
// may contain tokens.
func (m model) hostSuffix() string {
	u, err := url.Parse(m.URL.ValueString())
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return " at " + u.Hostname()
}

// ModifyPlan decides which changes replace an endpoint, adopts the configuration of an imported endpoint, and warns that an
// endpoint stays registered after it is replaced or destroyed. Terraform plans a replacement twice and drops the warnings
// of the second plan, so the first one warns.
func (r *webhookResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var config, state, plan model
	creates := req.State.Raw.IsNull()
	destroys := req.Plan.Raw.IsNull()
	if !creates {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if !destroys {
		resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
		resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if destroys {
		resp.Diagnostics.Append(removalWarning(state))
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
		return
	}
	if creates {
		// With secret_wo, secret is null. If secret_wo is unknown, it may turn out to be null, so secret stays unknown.
		if config.Secret.IsNull() && isSet(config.SecretWO) {
			plan.Secret = types.StringNull()
		}
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
		return
	}

	imported, diags := req.Private.GetKey(ctx, importedKey)
	resp.Diagnostics.Append(diags...)
	if string(imported) == "true" { // the configured values count as the registered ones
		plan.ID = state.ID
		plan.CreatedAt = state.CreatedAt
		plan.Secret = config.Secret
		resp.Diagnostics.AddWarning("Webhook adopted without verification",
			"The service does not report the settings of the imported "+state.name()+". "+
				"Apply writes the configured settings, except secret_wo, to the state, and sends no request. "+
				"Make sure that they are the current settings of the endpoint. Later changes register a new endpoint.")
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
		return
	}
	changes := findChanges(ctx, config, state)
	if len(changes.Paths) == 0 { // keep the state, including the secret if it was removed from the configuration
		resp.Diagnostics.Append(resp.Plan.Set(ctx, state)...)
		return
	}
	resp.RequiresReplace = changes.Paths
	resp.Diagnostics.Append(replacementWarning(state, config, changes))
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, warnedKey, []byte("true"))...)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
}

// findChanges returns the attributes whose configured values differ from the state in a way that replaces the endpoint.
func findChanges(ctx context.Context, config, state model) *tfkit.Replacement {
	changes := &tfkit.Replacement{}
	attributes := []struct {
		name                string
		configured, current attr.Value
	}{
		{"url", config.URL, state.URL},
		{"events", config.Events, state.Events},
		{"secret", config.Secret, state.Secret},
		{"secret_wo_version", config.SecretWOVersion, state.SecretWOVersion},
	}
	for _, a := range attributes {
		if a.name == "secret" && a.configured.IsNull() {
			continue // a secret that was removed from the configuration is not a change: the endpoint keeps it
		}
		if !a.configured.Equal(a.current) {
			changes.Add(ctx, a.name, a.configured)
		}
	}
	return changes
}

// removalWarning returns a warning that an endpoint stays registered after Terraform removes it from the state.
func removalWarning(endpoint model) diag.Diagnostic {
	// The title names the endpoint: Terraform folds warnings with the same title, and the ids would be lost.
	return diag.NewWarningDiagnostic("Webhook endpoint stays registered: "+endpoint.ID.ValueString(),
		fmt.Sprintf("The service cannot remove endpoints through its API, so Terraform only removes %s from its state. "+
			"The endpoint keeps receiving events%s until you remove it in the dashboard.",
			endpoint.name(), endpoint.hostSuffix()))
}

// replacementWarning returns a warning that the old endpoint stays registered after a change of its attributes.
func replacementWarning(old, next model, changes *tfkit.Replacement) diag.Diagnostic {
	text := fmt.Sprintf("The service cannot change an endpoint, so changing %s registers a new one. The old %s keeps receiving events%s. "+
		"After apply, remove the old endpoint in the dashboard. Otherwise, events may arrive twice.",
		changes.NamesInSentence(), old.name(), old.hostSuffix())
	if next.Secret.IsNull() && next.SecretWO.IsNull() {
		text += " The service signs the events of the new endpoint with a newly generated secret."
	}
	return diag.NewWarningDiagnostic("Replaced webhook endpoint stays registered: "+old.ID.ValueString(), text+changes.UnknownAdvice("endpoint"))
}
