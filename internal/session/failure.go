package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// Failure says in a diagnostic what was tried, on what, what the service
// answered, and what to do. Try completes "Could not …", as in "fund card X".
func Failure(try string, err error) diag.Diagnostic {
	detail := answer(err)
	if todo := advice(err); todo != "" {
		detail += "\n\n" + todo
	}
	return diag.NewErrorDiagnostic("Could not "+try, detail)
}

// answer tells what came back, in the service's words where it spoke last.
func answer(err error) string {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || openOutcome(err) {
		return sentence(err.Error())
	}
	said := fmt.Sprintf("The service answered %d", refused.Status)
	if refused.Code != "" {
		said += fmt.Sprintf(" (%s)", refused.Code)
	}
	if refused.Message != "" {
		said += ": " + refused.Message
	}
	return sentence(said)
}

// openOutcome reports an error that tells more than one answer of the service.
func openOutcome(err error) bool {
	_, unknown := errors.AsType[*api.UnknownOutcomeError](err)
	_, undecided := errors.AsType[*api.UndecidedTransferError](err)
	_, over := errors.AsType[*api.OverWithdrawalError](err)
	return unknown || undecided || over
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// advice is what the reader can do about it.
func advice(err error) string {
	if _, undecided := errors.AsType[*api.UndecidedTransferError](err); undecided {
		return "Money may or may not have moved. Where the card is managed by Terraform, this is remembered: run terraform plan, and the refresh settles it from the card's balance and transactions before any further money moves. " +
			"Otherwise look at the card in the dashboard before you repeat the movement."
	}
	if _, unknown := errors.AsType[*api.UnknownOutcomeError](err); unknown {
		return "" // it says itself what to do, call by call
	}
	if _, over := errors.AsType[*api.OverWithdrawalError](err); over {
		return "Run terraform plan: it shows the difference as a fund, if amount still asks for it."
	}
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return adviceFor(refused)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "The run was interrupted. Nothing more was sent."
	case errors.Is(err, context.DeadlineExceeded):
		return "The service took longer than request_timeout. Try again, or raise request_timeout in the provider configuration."
	}
	return "Check base_url and the network between this machine and the service, then try again."
}

const readiness = "An account is ready for the API after three steps: the owner confirms the e-mail address, " +
	"makes a first deposit, and asks support to switch API access on. "

func adviceFor(refused *api.Error) string {
	switch refused.Code {
	case "onboarding_incomplete":
		return readiness + "The first or the second step is still to be done."
	case "api_not_enabled":
		return readiness + "The third step is still to be done."
	case "insufficient_funds":
		return "The wallet cannot pay for this. Deposit first (the data source vcard_deposit_addresses lists where), or use a smaller amount."
	case "insufficient_card_balance":
		return "The card holds less than that; it may have been spent meanwhile. Run terraform plan again to see its balance now."
	case "card_frozen":
		return "The service refuses this for a frozen card. Set frozen = false, apply, then try again."
	case "card_terminated":
		return "The card was terminated meanwhile, which is final. Run terraform plan again: the refresh removes it from the state, and the next apply issues a new card if it is still in the configuration."
	case "bin_not_found":
		return "The data source vcard_bins lists the BINs that this account can issue on."
	case "idempotency_key_reused":
		return "The service has seen this call's idempotency key with another content. Run the command again; a new key is used then."
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		return "The service does not accept the API key. Check api_key in the provider configuration or VCARD_API_KEY: keys begin with sk_live_, are made in the dashboard under API access, and belong to the service at base_url."
	case http.StatusForbidden:
		return readiness
	case http.StatusNotFound:
		return "Either the id is wrong, or the API key belongs to another account."
	case http.StatusTooManyRequests:
		return "Other users of this API key leave too few requests for this run. Wait a minute and try again, or give each pipeline a share with rate_limits in the provider configuration."
	}
	return ""
}
