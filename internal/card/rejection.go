package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// rejection is session.ErrorDiagnostic and, where the service rejects a call without a code that
// says why, the state of the card: it is the likely reason.
func rejection(ctx context.Context, client *api.Client, id, operation string, err error) diag.Diagnostic {
	failure := session.ErrorDiagnostic(operation, err)
	if !lacksReason(err) {
		return failure
	}
	card, err := client.GetCard(ctx, id)
	if err != nil {
		return failure // the first response says more than a failed read
	}
	name := capitalized(nameOf(card.CardListItem))
	switch card.Status {
	case api.StatusTerminated:
		return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+"\n\n"+name+" "+terminatedForGood)
	case api.StatusFrozen:
		return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+"\n\n"+name+" is frozen, which may be the reason. "+
			"Unfreeze it with frozen = false on its vcard_card or with the action vcard_card_unfreeze, then try again.")
	}
	return failure
}

const terminatedForGood = "is terminated, which is final: it holds no money, has no details, and its state cannot change any more."

// lacksReason reports a rejection that may be for the state of the card.
func lacksReason(err error) bool {
	if _, unknown := errors.AsType[*api.UndecidedError](err); unknown {
		return false
	}
	rejected, ok := errors.AsType[*api.Error](err)
	if !ok || rejected.Code == "card_frozen" || rejected.Code == "card_terminated" {
		return false
	}
	switch rejected.Status {
	case 400, 404, 409, 422:
		return true
	}
	return false
}
