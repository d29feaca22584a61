package webhook

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

const replaces = " A change registers a new endpoint; the old one stays registered until it is removed in the dashboard."

func (r *webhookResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	secret := []validator.String{tfkit.NotEmpty(), tfkit.Rule("More than a line", oneLine)}
	resp.Schema = schema.Schema{
		MarkdownDescription: "An HTTPS endpoint that the service sends events to, signed with HMAC-SHA256 over the raw body.\n\n" +
			"The service can only register endpoints: it cannot show, change or remove one. So a change registers a new endpoint, " +
			"destroying this resource takes it out of the state alone, and what was changed or removed in the dashboard is not noticed. " +
			"Plans warn of every endpoint that is left behind and has to be removed in the dashboard.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Endpoint id, of the form `wh_…`.",
			},
			"url": schema.StringAttribute{
				Required:            true,
				Validators:          []validator.String{tfkit.Rule("Not an https address", httpsURL)},
				MarkdownDescription: "Address that receives the events; must begin with `https://`." + replaces,
			},
			"events": schema.SetAttribute{
				Required:    true,
				ElementType: types.StringType,
				Validators:  []validator.Set{eventNames{}},
				MarkdownDescription: "Events to receive: any of `" + strings.Join(events(), "`, `") +
					"`; or `[\"*\"]`, alone, for all of them." + replaces,
			},
			"secret": schema.StringAttribute{
				Optional:   true,
				Computed:   true,
				Sensitive:  true,
				Validators: secret,
				MarkdownDescription: "Secret that the service signs with, as it stands in the state. Not set: the service generates one, which lands here. " +
					"Taken out of the configuration, the endpoint keeps the secret that it has. To keep the secret out of the state, use `secret_wo`: this is null then. " +
					"Null as well on an imported endpoint until it is set." + replaces,
			},
			"secret_wo": schema.StringAttribute{
				Optional:   true,
				WriteOnly:  true,
				Sensitive:  true,
				Validators: secret,
				MarkdownDescription: "Secret that the service signs with, sent and never kept: it is in no plan and no state, and may come from an ephemeral value. " +
					"Needs `secret_wo_version` and excludes `secret`. A change is not noticed by itself; raise `secret_wo_version` with it. Needs Terraform 1.11 or OpenTofu 1.11.",
			},
			"secret_wo_version": schema.NumberAttribute{
				Optional:   true,
				Validators: []validator.Number{tfkit.WholeNumber()},
				MarkdownDescription: "Version of `secret_wo`, any whole number; change it whenever `secret_wo` changes. Needs `secret_wo`. " +
					"Taken out together with `secret_wo`, the new endpoint signs with `secret`, or with a generated secret when that is not set." + replaces,
			},
			"created_at": schema.StringAttribute{
				Computed:            true,
				CustomType:          timetypes.RFC3339Type{},
				MarkdownDescription: "When the endpoint was registered, RFC 3339. Null on an imported endpoint.",
			},
		},
	}
}

func (r *webhookResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = tfkit.IdentityByID("Webhook endpoint id, of the form wh_….")
}

// ValidateConfig checks which ways to give a secret go together.
func (r *webhookResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	switch {
	case isSet(config.Secret) && isSet(config.SecretWO):
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "Two secrets",
			"secret and secret_wo exclude each other: an endpoint signs with one secret. Keep secret_wo to keep it out of the state, or secret to have it there.")
	case isSet(config.SecretWO) && config.SecretWOVersion.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo_version"), "A write-only secret without its version",
			"secret_wo needs secret_wo_version, for example 1: Terraform keeps no write-only value, so a change of the secret shows only in its version.")
	case isSet(config.SecretWOVersion) && config.SecretWO.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "A version without its write-only secret",
			"secret_wo_version needs secret_wo, the secret whose version it is. Set secret_wo, or remove secret_wo_version.")
	}
}

// isSet reports whether v is set for certain: what is unknown may turn out null.
func isSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }
