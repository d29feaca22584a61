package webhook

import (
	"fmt"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// model is a vcard_webhook in configuration, plan and state.
type model struct {
	ID              types.String      `tfsdk:"id"`
	URL             types.String      `tfsdk:"url"`
	Events          types.Set         `tfsdk:"events"`
	Secret          types.String      `tfsdk:"secret"`
	SecretWO        types.String      `tfsdk:"secret_wo"`
	SecretWOVersion types.Int64       `tfsdk:"secret_wo_version"`
	CreatedAt       timetypes.RFC3339 `tfsdk:"created_at"`
}

// signingSecret is the configured one, "" to have one generated.
func (m model) signingSecret() api.Secret {
	if !m.SecretWO.IsNull() {
		return api.Secret(m.SecretWO.ValueString())
	}
	return api.Secret(m.Secret.ValueString())
}

// take fills in what the service decided. A write-only secret stays out.
func (m *model) take(w api.Webhook, secretIsWriteOnly bool) {
	m.ID = types.StringValue(w.ID)
	switch {
	case secretIsWriteOnly:
		m.Secret = types.StringNull()
	case m.Secret.IsUnknown():
		m.Secret = types.StringValue(w.Secret.Reveal())
	}
}

func (m *model) takeCreatedAt(text string) diag.Diagnostics {
	created, problems := timetypes.NewRFC3339Value(text)
	if !problems.HasError() {
		m.CreatedAt = created
		return nil
	}
	m.CreatedAt = timetypes.NewRFC3339Null()
	return diag.Diagnostics{diag.NewWarningDiagnostic("Unreadable creation time",
		fmt.Sprintf("The service says that %s was created at %q, which is not an RFC 3339 time. created_at stays empty.", m.name(), text))}
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
