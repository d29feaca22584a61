package session

import (
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// DelayWarning says how long a call took that ended well, and why; nothing for
// nil. What completes "To …", as in "fund card X". Its title is the same for all
// calls, so that Terraform shows one of many.
func DelayWarning(what string, delay *api.Delay) diag.Diagnostics {
	if delay == nil {
		return nil
	}
	title := "Held up by the service's limits"
	why := "This run needs more than they allow at once (50 new cards a minute, or what rate_limits in the provider configuration says), or other users of the API key have spent them. " +
		"Give each pipeline that uses the key a share with rate_limits."
	if delay.LostResponse {
		title = "A response was lost, and the outcome found out"
		why = "A response was lost on the way, or came too late. The provider then found out whether the call had taken effect before it went on."
	}
	took := delay.Took.Round(time.Second).String()
	if delay.Attempts > 1 {
		took += fmt.Sprintf(" and %d attempts", delay.Attempts)
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(title, fmt.Sprintf("To %s took %s. %s", what, took, why))}
}
