package card

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// nameOfMovement completes "a …".
func nameOfMovement(delta usd.Amount) string {
	if delta < 0 {
		return "withdrawal of " + (-delta).String() + " USD"
	}
	return "fund of " + delta.String() + " USD"
}

const giveUpByHand = "To give the movement up, set amount and top_up back to what the state says and apply: that moves nothing and ends it. Then find out in the dashboard whether it was made."

func notSettled(card model, pending reconcile.Pending, reason string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A movement of money is still undecided",
		fmt.Sprintf("An earlier apply sent a %s on %s and lost the response. It cannot be told yet whether it took effect: %s. No further money moves on this card until it can; each plan looks again. %s",
			nameOfMovement(pending.Delta), card.name(), strings.TrimSuffix(reason, "."), giveUpByHand))
}

func stillUndecided(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewErrorDiagnostic("An earlier movement of money is undecided",
		fmt.Sprintf("An earlier apply sent a %s on %s and lost the response. Until it is known whether that took effect, no other money moves on this card. Plan again in a minute: each plan looks again. "+
			"With idempotency_keys = \"honoured\", a plan of that very movement asks for it once more under its key. %s",
			nameOfMovement(pending.Delta), card.name(), giveUpByHand))
}

func givesUpPending(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewWarningDiagnostic("This plan gives up an undecided movement",
		fmt.Sprintf("An earlier apply sent a %s on %s and lost the response. amount and top_up are as the state has them, so applying moves no money and forgets that movement: "+
			"what the card holds then is taken as it is. Look in the dashboard whether it was made.", nameOfMovement(pending.Delta), card.name()))
}

// cameOrWent words an unexplained amount.
func cameOrWent(found usd.Amount) string {
	if found < 0 {
		return (-found).String() + " USD went from it"
	}
	return found.String() + " USD came to it"
}

// fitting says how a balance may be that after a movement, by what is unexplained of it.
func fitting(delta, found usd.Amount, topUp bool) string {
	switch {
	case found > 0 && delta > 0:
		return "and since Terraform last moved money on it up to " + found.String() + " USD may have come to it that no transaction explains, which may be this movement or hold it"
	case found < 0 && delta < 0:
		return "and since Terraform last moved money on it " + cameOrWent(found) + " that no transaction explains, which may be this movement or hold it"
	case topUp:
		return "as it may after this movement and a top-up beside it"
	case found != 0:
		return "which fits with this movement"
	}
	return "which fits with this movement and without it"
}

// foreseen says what apply will do about a movement that may have been made.
func foreseen(card model, m reconcile.Movement, e reconcile.Explanation, d reconcile.Decision) (diags diag.Diagnostics) {
	name := capitalized(card.name())
	what := nameOfMovement(m.Delta)
	say := func(title, text string, args ...any) {
		diags.AddWarning(title, name+" "+fmt.Sprintf(text, args...))
	}
	switch {
	case mayBeMade(d) && d.Verdict == reconcile.Stop:
		say("The "+what+" may have been made already", "holds %s USD, %s. Apply looks again, and if that tells no more it stops once and says what to do.", e.Balance, fitting(m.Delta, m.Found(e, d.Reason), m.MayHaveTopUp(e)))
	case mayBeMade(d) && d.Verdict == reconcile.SendKey:
		beside := ""
		if m.MayHaveTopUp(e) {
			beside = " Where that run had another amount, the fund comes on top."
		}
		say("The "+what+" may have been made already", "holds %s USD, as it may after an apply that made this movement and was cut off. Apply asks under its idempotency key, which the service counts once."+beside, e.Balance)
	case mayBeMade(d):
		say("The "+what+" may have been made already", "holds %s USD, as after an apply that made this movement and was cut off. Apply finds out, and does not make it a second time.", e.Balance)
	case d.Reason == reconcile.RecordLost:
		say("Apply stops once before a "+what, "has lost its money_record, or never had one: nothing tells what an earlier run has moved. Apply takes what the card holds as it is and stops; the apply after it moves the money.")
	case d.Reason == reconcile.Unreadable && d.Verdict == reconcile.SendKey:
		say("The "+what+" may have been made already", "may have had this movement already: %s. Apply asks under its idempotency key, which the service counts once.", e.Hidden)
	case d.Reason == reconcile.Unreadable:
		say("Apply stops once before a "+what, "may have had this movement already: %s. Apply stops once and says what to do.", e.Hidden)
	case d.Reason == reconcile.OtherMoney:
		say("A card holds what its transactions do not explain", "holds %s USD: since Terraform last moved money on it, %s that no transaction explains. The %s comes on top.", e.Balance, cameOrWent(e.Left), what)
	}
	return diags
}

// hadInMonth completes a sentence on what top-ups have added in a month, or in that of
// the record where it is later.
func hadInMonth(had reconcile.TopUps, month reconcile.Month, limit usd.Amount) string {
	sum := had.Sum.String() + " USD"
	switch {
	case month > had.Month:
		sum = "nothing"
	case had.Sum >= reconcile.Unknown:
		sum = "an unknown sum, since its money_record was lost"
	}
	month = max(month, had.Month)
	return fmt.Sprintf("in %s it has had %s, of at most %s USD (max_top_up_per_month); the cap begins anew on %s.",
		month.First().Format("January 2006"), sum, limit, (month + 1).First().Format(time.DateOnly))
}

func capped(card model, due, left, limit usd.Amount, had reconcile.TopUps, month reconcile.Month) diag.Diagnostic {
	title := fmt.Sprintf("A top-up is cut to %s USD by the month's cap", left)
	if left == 0 {
		title = "A top-up is due, and the month's cap is reached"
	}
	return diag.NewAttributeWarningDiagnostic(path.Root("max_top_up_per_month"), title,
		fmt.Sprintf("%s would be topped up with %s USD; ", capitalized(card.name()), due)+hadInMonth(had, month, limit))
}

func madeBefore(card model, operation string, m reconcile.Movement, transfer api.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("It was made before: "+operation,
		fmt.Sprintf("%s holds %s USD, which is what it held before with just this movement, as after an apply that was cut off before it could save its state, or after an action of the apply before. So the movement counts as made, and the state says so. "+
			"If somebody else moved that money, change amount by %s USD once more and apply.",
			capitalized(card.name()), transfer.CardBalance, m.Delta.Abs()))
}

func unexplainedMoney(card model, transfer api.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Money moved on a card without Terraform",
		fmt.Sprintf("Since Terraform last moved money on %s, %s that no transaction explains: by another hand, an action, a run that was cut off, or a transaction that is not listed yet. "+
			"The planned movement was made all the same, and the card holds %s USD now.", card.name(), cameOrWent(transfer.LeftOver), transfer.CardBalance))
}

func ignoredMoney(card model, transfer api.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A transaction of a card cannot be counted",
		fmt.Sprintf("Of %s, %s. It counts as nothing where it is found out whether a movement was made. The planned movement was made, and the card holds %s USD now.",
			card.name(), strings.TrimSuffix(transfer.Ignored, "."), transfer.CardBalance))
}

func excess(name, operation string, transfer api.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("More or less money moved than asked: "+operation,
		fmt.Sprintf("After this call, %s holds %s USD, which is %s USD other than what it held before, the movement and its transactions lead to. "+
			"The service may have ignored the amount. Where Terraform manages the card, amount in the state is as it was planned. "+
			"Look at the card in the dashboard, and put it right with the actions vcard_card_fund and vcard_card_withdraw.",
			name, transfer.CardBalance, transfer.Excess.Abs()))
}

// stopped says why nothing was moved, and how the money moves after all. A stop is
// never repeated for the same facts.
func stopped(card model, operation string, halted *api.StoppedError, had reconcile.TopUps) diag.Diagnostic {
	name, m := capitalized(card.name()), halted.Movement
	again := fmt.Sprintf("If it was made already, set amount back by %s USD. If it was not, apply again: what the card holds now is taken as it is, and the money moves.", m.Delta.Abs())
	if m.Purpose == reconcile.ForTopUp {
		again = "Plan again: what the card holds now is taken as it is, and it is topped up if that is still due."
	}
	title := "Could not " + operation + ": it may have been made already"
	text := fmt.Sprintf("Nothing was sent. %s holds %s USD, %s: a run that was cut off or an action may have made it. %s", name, halted.Balance, fitting(m.Delta, halted.Found, halted.TopUp), again)
	switch halted.Reason {
	case reconcile.RecordLost:
		title = "Could not " + operation + ": nothing tells what was moved before"
		text = fmt.Sprintf("Nothing was sent. The money_record of %s is lost or damaged, so that nothing tells whether a run that was cut off has made this movement. It holds %s USD now%s. %s",
			card.name(), halted.Balance, loadedWith(card), again)
	case reconcile.NotDue:
		title = "Could not " + operation + ": it is not due any more"
		text = fmt.Sprintf("Nothing was sent. %s holds %s USD by now, which is not under top_up.below (%s USD). %s", name, halted.Balance, m.Range.Below, again)
	case reconcile.IntoRange:
		title = "Could not " + operation + ": it would be topped up again"
		text = "Nothing was sent. " + withdrawsIntoTopUp(card, halted.Balance+m.Delta, m.Range.Below)
	case reconcile.OverCap:
		title = "Could not " + operation + ": it would pass max_top_up_per_month"
		text = "Nothing was sent. What came to " + card.name() + " and no transaction explains counts: " + hadInMonth(had, 0, *m.Range.Limit) + " " + again
	case reconcile.Unreadable:
		text = fmt.Sprintf("Nothing was sent. %s holds %s USD, and %s, which may be this movement, made by a run that was cut off. %s", name, halted.Balance, halted.Unread, again)
	case reconcile.NotShown:
		title = "Could not " + operation + ": the service says it did, and the card does not show it"
		said := "that it was made, or was asked for before"
		if halted.Answered != nil {
			said = fmt.Sprintf("that the card holds %s USD", *halted.Answered)
		}
		if halted.Refusal != nil {
			said = "that it has met the idempotency key before (" + halted.Refusal.Error() + ")"
		}
		text = fmt.Sprintf("The service answered %s, and the card holds %s USD: an earlier response again, or it was spent at once and is not listed yet. "+
			"Look at its transactions in the dashboard first. Applying again moves the money once more; if it was made, set amount and top_up back to what the state says.",
			strings.TrimSuffix(said, "."), halted.Balance)
	}
	return diag.NewErrorDiagnostic(title, text)
}

// loadedWith ends a sentence on what a card holds.
func loadedWith(card model) string {
	text := ""
	if card.Amount.IsKnown() {
		text += fmt.Sprintf(", where the state has amount = %s", card.Amount.Amount())
	}
	if toppedUp := card.ToppedUp.Amount(); toppedUp != 0 {
		text += fmt.Sprintf(", topped up with %s USD", toppedUp)
	}
	return text
}
