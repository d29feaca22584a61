package webhook

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// What a person reads about an endpoint. Each text names the endpoint and says
// what to do.

func staysRegistered(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic(fmt.Sprintf("Webhook endpoint %s stays registered", endpoint.ID.ValueString()),
		fmt.Sprintf("The service cannot remove an endpoint, so Terraform only forgets it. It goes on receiving events%s until it is removed in the dashboard: remove %s there.",
			endpoint.where(), endpoint.ID.ValueString()))
}

func replacement(old, next model, reasons path.Paths) diag.Diagnostic {
	names := make([]string, len(reasons))
	for i, reason := range reasons {
		names[i] = reason.String()
	}
	text := fmt.Sprintf("The service cannot change an endpoint, and %s changed. A new endpoint is registered. The old one goes on receiving events%s until it is removed in the dashboard: remove %s there after apply, or events arrive twice.",
		strings.Join(names, ", "), old.where(), old.ID.ValueString())
	if next.Secret.IsNull() && next.SecretWO.IsNull() {
		text += " The new endpoint signs with a newly generated secret."
	}
	if unknown := next.unknownAmong(names); len(unknown) > 0 {
		text += fmt.Sprintf(" %s is known only after apply and may turn out the same; the endpoint is replaced even then. Apply what it depends on first to avoid that.",
			strings.Join(unknown, ", "))
	}
	return diag.NewWarningDiagnostic(fmt.Sprintf("Webhook endpoint %s is replaced and stays registered", old.ID.ValueString()), text)
}

// unknownAmong returns which of the named attributes are not known yet.
func (m model) unknownAmong(names []string) []string {
	values := map[string]attr.Value{"url": m.URL, "events": m.Events, "secret": m.Secret, "secret_wo_version": m.SecretWOVersion}
	var among []string
	for _, name := range names {
		if values[name].IsUnknown() {
			among = append(among, name)
		}
	}
	return among
}

func takenOver(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic(fmt.Sprintf("The configuration of %s is taken over without proof", endpoint.name()),
		"The endpoint was imported, and the service cannot show what it is registered with. The configured url, events and secret go into the state as they are, and nothing is sent: "+
			"a secret that is set has to be the one that the endpoint has. Later changes register a new endpoint.")
}

func possibleDuplicate(endpoint model) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A second webhook endpoint may have been registered",
		fmt.Sprintf("While %s was registered, an answer of the service was lost and the request was sent again. If the service took both, a second endpoint%s receives the same events, signed with another secret unless one was configured. "+
			"Look in the dashboard, and remove there the one that is not %s.", endpoint.name(), endpoint.where(), endpoint.ID.ValueString()))
}
