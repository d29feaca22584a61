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
	why := "Other users of the API key may have spent them. Give each pipeline a share with rate_limits in the provider configuration."
	if delay.LostResponse {
		title = "A response was lost, and the outcome found out"
		why = "A response was lost on the way, or came too late. The provider then found out whether the call had taken effect before it went on."
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(title,
		fmt.Sprintf("To %s took %s and %d attempts. %s", what, delay.Took.Round(time.Second), delay.Attempts, why))}
}
