package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// refusal is session.ErrorDiagnostic and, where the service refuses without a code that
// says why, the state of the card: it is the likely reason.
func refusal(ctx context.Context, client *api.Client, id, try string, err error) diag.Diagnostic {
	failure := session.ErrorDiagnostic(try, err)
	if !namesNoReason(err) {
		return failure
	}
	card, err := client.GetCard(ctx, id)
	if err != nil {
		return failure // the first answer says more than a failed look
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

// namesNoReason reports a refusal that may be for the state of the card.
func namesNoReason(err error) bool {
	if _, unknown := errors.AsType[*api.UndecidedError](err); unknown {
		return false
	}
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || refused.Code == "card_frozen" || refused.Code == "card_terminated" {
		return false
	}
	switch refused.Status {
	case 400, 404, 409, 422:
		return true
	}
	return false
}
