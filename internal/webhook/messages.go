package webhook

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// What a person reads about an endpoint. Each text names the endpoint and says
// what to do.

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
