package card

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// rejection is session.ErrorDiagnostic and, where the state in which the card was last
// seen may be the reason, what to do about that.
func rejection(status api.CardStatus, operation string, err error) diag.Diagnostic {
	failure, rejected := session.ErrorDiagnostic(operation, err), forState(err)
	if rejected == nil {
		return failure
	}
	isFrozen := status == api.StatusFrozen || rejected.Code == "card_frozen"
	var reason string
	switch {
	case status == api.StatusTerminated:
		reason = "The card " + terminatedForGood
	case isFrozen && strings.HasSuffix(rejected.Path, "/unfreeze"):
		reason = "If the card holds less than its auto_freeze_at, fund it before you unfreeze it: " +
			"take frozen out of the configuration, raise amount and apply (or use the action vcard_card_fund), then try again."
	case isFrozen:
		reason = "The card is frozen, which may be the reason. " +
			"Unfreeze it with frozen = false on its vcard_card or with the action vcard_card_unfreeze, then try again."
	case status != "" && !status.IsKnown():
		reason = fmt.Sprintf("The service shows it as %s, a status that its document does not have, which may be the reason. "+
			"Look at the card in the dashboard. If it is gone for good, take its vcard_card out of the state with "+
			"terraform state rm ADDRESS; the next apply issues a new card if it is still in the configuration.", status)
	case rejected.Status == 400 && strings.HasSuffix(rejected.Path, "/withdraw"):
		reason = "If the service takes no amount with a withdrawal, it has to be made in the dashboard. " +
			"amount of a vcard_card stays in the state as it was: set it back in the configuration, or each apply tries again."
	default:
		return failure
	}
	return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+"\n\n"+reason)
}

const terminatedForGood = "is terminated, which is final: it holds no money, has no details, and its state cannot change any more."

// forState returns the rejection of a call that may be for the state of the card, or nil.
func forState(err error) *api.Error {
	rejected, ok := errors.AsType[*api.Error](err)
	if _, unknown := errors.AsType[*api.UndecidedError](err); unknown || !ok || rejected.LacksFunds() || rejected.Code == "card_terminated" {
		return nil
	}
	switch rejected.Status {
	case 400, 404, 409, 422:
		return rejected
	}
	return nil
}
