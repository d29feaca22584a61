package card

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const reconcileByHand = "Run terraform plan again: each refresh checks it again. " +
	"To give the movement up, set amount and top_up back to what the state says and apply: that moves nothing and ends it. Then find out in the dashboard whether it was made."

func notReconciled(card model, pending *pendingTransfer, reason string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A movement of money on "+card.name()+" is still undecided",
		fmt.Sprintf("An earlier apply sent a %s of %s USD and lost the response. Whether it took effect cannot be told yet: %s. No further money moves on this card until it can. %s",
			pending.Transfer.Kind, pending.Transfer.Amount, strings.TrimSuffix(reason, "."), reconcileByHand))
}

func stillUndecided(card model, pending *pendingTransfer) diag.Diagnostic {
	return diag.NewErrorDiagnostic("An earlier movement of money on "+card.name()+" is undecided",
		fmt.Sprintf("An earlier apply sent a %s of %s USD and lost the response. Until it is known whether that took effect, no further money moves on this card. %s",
			pending.Transfer.Kind, pending.Transfer.Amount, reconcileByHand))
}

func givesUpPending(card model, pending *pendingTransfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("This plan gives up an undecided movement on "+card.name(),
		fmt.Sprintf("An earlier apply sent a %s of %s USD and lost the response, and it could not be told whether it took effect. amount and top_up are as the state has them, so applying moves no money and forgets that movement: "+
			"what the card holds then is taken as it is. Look in the dashboard whether it was made.",
			pending.Transfer.Kind, pending.Transfer.Amount))
}

// cameOrWent words an unexplained amount.
func cameOrWent(found usd.Amount) string {
	if found < 0 {
		return (-found).String() + " USD went from it"
	}
	return found.String() + " USD came to it"
}

func madeBefore(card model, try string, delta usd.Amount, transfer api.Transfer) diag.Diagnostic {
	verb := "lower"
	if delta > 0 {
		verb = "raise"
	}
	return diag.NewWarningDiagnostic("Nothing was sent, because it was made before: "+try,
		fmt.Sprintf("%s holds %s USD, which is what it held before with just this movement, as after an apply that was cut off before it could save its state. So the movement counts as made and the state says so. "+
			"If somebody else moved that money and you want it moved once more, %s amount by %s USD more and apply.",
			capitalized(card.name()), transfer.CardBalance, verb, abs(delta)))
}

func unexplainedMoney(card model, transfer api.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Money moved on "+card.name()+" without Terraform",
		fmt.Sprintf("Since Terraform last moved money on it, %s that no transaction explains: by another hand, an action, a run that was cut off, or a transaction that is not listed yet. "+
			"The planned movement was made all the same, and the card holds %s USD now.", cameOrWent(transfer.Unexplained), transfer.CardBalance))
}

func stoppedForUnexplained(card model, try string, stopped *api.UnexplainedMoneyError) diag.Diagnostic {
	next := fmt.Sprintf("If it was made already, set amount back by %s USD. If it was not, apply again: what the card holds now is taken as it is, and the money moves.", abs(stopped.Movement.Delta))
	if stopped.Movement.UpTo != nil {
		next = "Plan again: what the card holds now is taken as it is, and it is topped up if that is still due."
	}
	return diag.NewErrorDiagnostic("Could not "+try+": it may have been made already",
		fmt.Sprintf("Nothing was sent. %s holds %s USD: since Terraform last moved money on it, %s that no transaction explains, which may hold this movement, made by a run that was cut off. %s",
			capitalized(card.name()), stopped.Balance, cameOrWent(stopped.Found), next))
}

func stoppedForLostHistory(card model, try string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Could not "+try+": it may have been made already",
		fmt.Sprintf("Nothing was sent. What was kept beside the state of this card was lost when it was tainted and could not be terminated, so nothing tells whether an earlier run made this movement. "+
			"%s holds %s USD now%s. If the movement was made, set amount and top_up back to what the state says. If it was not, apply again: what the card holds now is taken as it is, and the money moves.",
			capitalized(card.name()), card.Balance.Amount(), loadedWith(card)))
}

func movedUnchecked(card model, try string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Not checked for an earlier run: "+try,
		"What "+card.name()+" held when Terraform last moved money on it is not known, so nothing could tell whether a run that was cut off had made this movement already. From now on it is known.")
}

func excess(name, try string, transfer api.Transfer) diag.Diagnostic {
	text := fmt.Sprintf("After this call, %s holds %s USD, which is %s USD other than what it held before, the movement and its transactions lead to. "+
		"The service may have ignored the amount, or a network may have repeated the request. Where Terraform manages the card, amount in the state stays as it was planned. "+
		"Look at the card in the dashboard, and put it right with the actions vcard_card_fund and vcard_card_withdraw where that is needed.",
		name, transfer.CardBalance, abs(transfer.Excess))
	if transfer.ExcessUnclear != "" {
		text += " This is not certain: " + strings.TrimSuffix(transfer.ExcessUnclear, ".") + "."
	}
	return diag.NewWarningDiagnostic("More or less money moved than asked: "+try, text)
}

func holdsMoreThanKnown(card model, anchor, delta usd.Amount) diag.Diagnostic {
	balance := card.Balance.Amount()
	next := fmt.Sprintf("Where it turns out that this movement of %s USD was made already, apply does not make it a second time; otherwise it comes on top.", abs(delta))
	return diag.NewWarningDiagnostic(fmt.Sprintf("%s holds %s USD more than when Terraform last moved money on it", capitalized(card.name()), balance-anchor),
		fmt.Sprintf("It held %s USD then and holds %s USD now: after a refund, after somebody else funded it, or after an apply that was cut off. %s", anchor, balance, next))
}

func mayBeWithdrawn(card model, delta usd.Amount) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(path.Root("amount"), "The withdrawal from "+card.name()+" may have been made already",
		fmt.Sprintf("The plan withdraws %s USD, and since Terraform last moved money on it the card has lost at least as much, so that it holds %s USD now. Apply finds out whether an apply that was cut off made this withdrawal, and does not make it a second time.",
			-delta, card.Balance.Amount()))
}

func abs(a usd.Amount) usd.Amount { return max(a, -a) }

func keyCameBefore(card model, try string, refused *api.Error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(session.ErrorDiagnostic(try, refused).Summary(),
		refused.Error()+".\n\nThe refusal is about the key that every run sends with this movement: a run that was cut off may have made it, and spending since then may hide that. "+
			"Look at "+card.name()+" in the dashboard. If it has the money, set amount and top_up back to what the state says, and nothing moves. "+
			"If not, apply with idempotency_keys = \"unknown\" in the provider configuration, which goes by what the card shows: when the key is refused once more, the apply after that has a new one.")
}
