package webhook

import (
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

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
func (m model) signingSecret() api.Secret {
	if !m.SecretWO.IsNull() {
		return api.Secret(m.SecretWO.ValueString())
	}
	return api.Secret(m.Secret.ValueString())
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
