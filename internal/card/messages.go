package card

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// replaceInstead is for -replace, of which a provider learns nothing in the first plan of the card.
func replaceInstead(amount usd.Amount) string {
	if amount < api.MinimumLoad {
		return "" // no card is issued with that
	}
	return " Only if this was asked for with -replace: use terraform taint on this resource and apply, in place of -replace."
}

func withdrawsIntoTopUp(card model, after, below usd.Amount) string {
	return fmt.Sprintf("Lowering amount leaves %s with %s USD, which is under top_up.below (%s USD): the same plan would load again what it withdraws. Lower top_up as well, or take it out.",
		card.name(), after, below)
}

// notKnown is for a card that the service answers 404 or 410 to, which ends none. It has no
// detail where that was told of all cards.
func notKnown(card model, err error, s *session.Session) diag.Diagnostic {
	title := "The service does not know " + card.name()
	if !s.FirstTime(session.TopicUnknownCard, "") && !s.Cards.HasFound() {
		return diag.NewErrorDiagnostic(title, "")
	}
	why := "So the API key may belong to another account, a sandbox may have another file, or something is wrong at the service. " +
		"Check that the key (VCARD_API_KEY) and base_url are those of the account that owns the card."
	if s.Sandbox != nil {
		made := "may be another than the one that had the card"
		if s.Sandbox.Created {
			made = "was missing and has been made new just now, with nothing in it, while the state still speaks of cards in an earlier one"
		}
		why = "The sandbox file " + s.Sandbox.Path + " " + made +
			". Put the earlier file there again (a pipeline has to keep it, as it keeps the state), or point sandbox.path or VCARD_SANDBOX to where it is now."
	}
	return diag.NewErrorDiagnostic(title, session.Cause(err)+
		" That alone does not prove that it is gone: the service keeps cards that are terminated, and shows them. "+why+
		"\n\nThe card stays in the state. If it is gone for certain, take it out with terraform state rm. "+
		"Where the service knows no card of this state, the others are not named.")
}

func notIssued(request api.IssueCardRequest, err error) diag.Diagnostic {
	var more string
	if unknown, ok := errors.AsType[*transport.UndecidedError](err); ok && len(unknown.Candidates) > 0 {
		more = "\n\nCards that may be the one; import it, or terminate it in the dashboard, before the next apply issues another:"
		for _, candidate := range unknown.Candidates {
			more += fmt.Sprintf("\n  %q, %s USD:\n    terraform import <address> %s", candidate.Label, candidate.Balance, candidate.ID)
		}
	}
	return failed(fmt.Sprintf("issue the card %q on BIN %s", request.Label, request.BinID), err, more)
}

func failed(operation string, err error, more string) diag.Diagnostic {
	failure := session.ErrorDiagnostic(operation, err)
	return diag.NewErrorDiagnostic(failure.Summary(), failure.Detail()+more)
}

func issuedButNotFrozen(card model, err error) diag.Diagnostic {
	return failed("freeze the new "+card.name(), err, "\n\nThe card exists, is loaded with "+card.Balance.Amount().String()+" USD and active. Terraform marks it as tainted, and the next apply would terminate it and issue another. "+
		"To keep it, run terraform untaint on this resource, then apply again: that freezes it.")
}

// issued says what is to be said of a card that was issued.
func issued(card model, request api.IssueCardRequest, by api.Issuance, shown map[string]string) (diags diag.Diagnostics) {
	if has := whatIsFixed().differences(shown, &card); len(has) > 0 {
		diags.AddWarning("The service issued "+card.ID.ValueString()+" otherwise than asked",
			fmt.Sprintf("The new card has %s, which is what counts when it is used. The state keeps what was asked.", strings.Join(has, " and "))+followAdvice(shown))
	}
	if asked, holds := request.Amount, by.Card.Balance; holds != asked {
		diags.AddWarning(fmt.Sprintf("%s holds %s USD in place of %s USD", capitalized(card.name()), holds, asked),
			fmt.Sprintf("It was just issued with a load of %s USD, and the service shows %s USD on it. Nothing is sent for the difference, and amount stays %s in the state. "+
				"Unless the card has been used already, compare the wallet in the dashboard, and ask the service's support.", asked, holds, asked))
	}
	for _, other := range by.PossibleDuplicates {
		diags.AddWarning("A second card may have been issued: "+nameOf(other),
			fmt.Sprintf("While %s was issued, %s with a balance of %s USD appeared on the same BIN with the same label. If it is not yours, terminate it in the dashboard; to keep it, import it: terraform import <address> %s",
				card.name(), nameOf(other), other.Balance, other.ID))
	}
	diags.Append(session.LostResponseWarning("issue "+card.name(), by.How.LostResponse())...)
	if by.How == api.Found && !request.GeneratedLabel {
		diags.AddWarning("A card was recognized by its label: "+card.name(),
			"The response to its issuing was lost, and a new card with the same label, BIN and load was found. Another pipeline that issues cards "+
				"with this label might own it, or another configuration of this provider: an alias runs in a process of its own. "+
				"If so, remove it here with terraform state rm and apply again. Labels that nobody else uses, or none at all, leave no doubt.")
	}
	return diags
}

// labelExists warns of live cards that have the label of a new card.
func labelExists(cards []api.CardListItem) diag.Diagnostic {
	text := capitalized(nameOf(cards[0])) + " already has this label."
	if more := len(cards) - 1; more > 0 {
		text = fmt.Sprintf("%s and %d more already have this label.", capitalized(nameOf(cards[0])), more)
	}
	text += " Applying this plan issues another card." +
		"\n\nTerraform shows one of these warnings and counts the rest; `vcard statement --no-unmanaged` lists all of them with import blocks." +
		"\n\nWrong workspace or lost state: do not apply. Renamed resource: add a moved block. Two cards wanted: use different labels. " +
		"If this plan replaces that card, no action is needed."
	return diag.NewAttributeWarningDiagnostic(path.Root("label"), "Card with this label already exists", text)
}

// unfreezes warns of a plan that unfreezes a card which Terraform did not freeze.
func unfreezes(card model) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(path.Root("frozen"), "This plan unfreezes "+card.name(),
		"The card was frozen since the last apply: by the service, if its balance fell below auto_freeze_at, or by someone. "+
			"The configuration says frozen = false, so applying this plan unfreezes it.\n\nTo keep the card frozen, set frozen = true.")
}

// generatedLabelsExist warns of live cards that an interrupted run may have left.
func generatedLabelsExist(count int, prefix string) diag.Diagnostic {
	cards := fmt.Sprintf("%d live cards have labels that were", count)
	if count == 1 {
		cards = "1 live card has a label that was"
	}
	return diag.NewWarningDiagnostic("Cards with generated labels already exist", fmt.Sprintf(
		"%s generated with the prefix %q within the last week. They may be in this state, in another workspace, or left by an interrupted run."+
			"\n\nIf a run was interrupted or the state was lost, do not apply. `vcard statement --no-unmanaged` lists the cards that are in no state with import blocks. "+
			"To have each new card compared by itself, write labels.", cards, prefix))
}

func labelsNotRead(err error) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Labels of new cards were not checked",
		"This plan issues cards, and the live cards could not be listed: a card with the same label may already exist. "+
			session.ErrorDiagnostic("list the live cards", err).Detail()+
			"\n\nIf an earlier run was interrupted, plan again before you apply.")
}

// followAdvice is how the configuration takes over what the service shows, where it may.
func followAdvice(shown map[string]string) (advice string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(shown)), func(name string) bool {
		switch value := shown[name]; name {
		case "label":
			return labelLength(value)+oneLine(value) != ""
		case "spending_limit":
			limit, err := usd.Parse(value)
			return err != nil || limit < usd.Cent
		default:
			return value == ""
		}
	})
	if len(names) > 0 {
		advice = fmt.Sprintf(" To have what the service shows in the state, write its %s into the configuration: that replaces nothing.", strings.Join(names, " and "))
	}
	if label, differs := shown["label"]; differs && label == "" {
		advice += " An empty label cannot be configured: delete the line where there is one, which replaces nothing."
	}
	return advice
}

// rejection is session.ErrorDiagnostic and, where the state in which the card was last
// seen may be the reason, what to do about that.
func rejection(status api.CardStatus, operation string, err error) diag.Diagnostic {
	rejected := forState(err)
	if rejected == nil {
		return session.ErrorDiagnostic(operation, err)
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
		return session.ErrorDiagnostic(operation, err)
	}
	return failed(operation, err, "\n\n"+reason)
}

const terminatedForGood = "is terminated, which is final: it holds no money, has no details, and its state cannot change any more."

// forState returns the rejection of a call that may be for the state of the card, or nil.
func forState(err error) *transport.Error {
	rejected, ok := errors.AsType[*transport.Error](err)
	_, unknown := errors.AsType[*transport.UndecidedError](err)
	if unknown || !ok || rejected.LacksFunds() || rejected.Code == "card_terminated" {
		return nil
	}
	switch rejected.Status {
	case 400, 404, 409, 422:
		return rejected
	}
	return nil
}

// nameOfMovement completes "a …".
func nameOfMovement(delta usd.Amount) string {
	if delta < 0 {
		return "withdrawal of " + (-delta).String() + " USD"
	}
	return "fund of " + delta.String() + " USD"
}

func sentBefore(card model, pending reconcile.Pending) string {
	text := fmt.Sprintf("An earlier apply sent a %s on %s", nameOfMovement(pending.Delta), card.name())
	if pending.Answered {
		return text + ", the service answered that it was made, and the card does not show it. Nothing is sent again until it does."
	}
	return text + " and lost the response. Until it is known whether that took effect, no other money moves on this card."
}

// giveUp says how to give up a pending movement, by what a plan moves besides; nil: not known.
func giveUp(card model, movements []reconcile.Movement) string {
	ways := []string{"set amount to what the state has", "take top_up out of the configuration"}
	if card.Amount.IsKnown() {
		ways[0] = "set amount to " + card.Amount.Amount().String()
	}
	if len(movements) == 1 {
		ways = ways[movements[0].Purpose : movements[0].Purpose+1]
	}
	return "To give it up, " + strings.Join(ways, ", ") + " and apply: that moves no money and forgets it. Look in the dashboard whether it was made; top_up can come back with the next apply."
}

func notSettled(card model, pending reconcile.Pending, reason string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("A movement of money is still undecided",
		sentBefore(card, pending)+fmt.Sprintf(" It cannot be told yet: %s. Each plan looks again. ", strings.TrimSuffix(reason, "."))+giveUp(card, nil))
}

// stopsForPending says in a plan that apply moves nothing on this one card.
func stopsForPending(card model, pending reconcile.Pending, movements ...reconcile.Movement) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Apply moves no money on "+card.name()+": an earlier movement is undecided",
		sentBefore(card, pending)+" Plan again in a minute: each plan looks again. "+giveUp(card, movements))
}

func undecidedBefore(card model, operation string, pending reconcile.Pending, m reconcile.Movement) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Could not "+operation+": an earlier movement of money is undecided",
		"Nothing was sent. "+sentBefore(card, pending)+" Plan again in a minute: each plan looks again. "+giveUp(card, []reconcile.Movement{m}))
}

func givesUpPending(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewWarningDiagnostic("This plan gives up an undecided movement of "+card.name(),
		sentBefore(card, pending)+" This plan moves no money on the card, so applying it forgets that movement: what the card holds then is taken as it is. Look in the dashboard whether it was made.")
}

// mayGiveUpPending is for a plan that cannot show whether it gives a movement up.
func mayGiveUpPending(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewWarningDiagnostic("This plan may give up an undecided movement of "+card.name(),
		sentBefore(card, pending)+" amount or top_up is known only during apply: where it moves no money then, that movement is forgotten, and what the card holds is taken as it is. "+
			"To keep it, write the value itself until it is decided, or first apply what it comes from with -target. Each plan looks again.")
}

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

// previewed says what apply will do about a movement that may have been made.
func previewed(card model, d reconcile.Decision) diag.Diagnostics {
	e, m, what := d.Since, d.Movement, nameOfMovement(d.Movement.Delta)
	mayBeMade, stops := "The "+what+" may have been made already", "Apply stops once before a "+what
	holds := fmt.Sprintf("%s holds %s USD", capitalized(card.name()), e.Balance)
	say := func(title, text string, args ...any) diag.Diagnostics {
		return diag.Diagnostics{diag.NewWarningDiagnostic(title+": "+card.name(), fmt.Sprintf(text, args...))}
	}
	switch {
	case d.Verdict == reconcile.Undecided:
		return say(mayBeMade, "%s Apply looks again, and moves nothing on this card until it can be told. %s", sentBefore(card, *d.Before.Pending), giveUp(card, []reconcile.Movement{m}))
	case d.Verdict == reconcile.SendKey:
		return say(mayBeMade, "%s, as it may after an apply of this plan that was cut off. Apply asks under the idempotency key of that, which the service counts once. If something else brought the card there, the %s comes on top.", holds, what)
	case d.Verdict == reconcile.Made:
		return say(mayBeMade, "%s, as after an apply that made this movement and was cut off, or after as much by another hand. Apply looks again, and does not make it a second time.", holds)
	case d.Verdict == reconcile.Send && d.Reason == reconcile.LooksEither:
		return say(mayBeMade, "%s, %s. Apply looks again, and sends it under an idempotency key that the service counts once, unless it has forgotten it.", holds, fitting(m.Delta, 0, false))
	case d.Verdict == reconcile.Send && d.Reason == reconcile.OtherMoney && e.Left != 0:
		return say("A card holds what its transactions do not explain", "%s: since Terraform last moved money on it, %s that no transaction explains. The %s comes on top.", holds, cameOrWent(e.Left), what)
	}
	switch d.Reason {
	case reconcile.LooksEither, reconcile.LeftOver:
		return say(mayBeMade, "%s, %s. Apply looks again, and if that tells no more it stops once and says what to do.", holds, fitting(m.Delta, m.Found(e, d.Reason), m.MayHaveTopUp(e)))
	case reconcile.BehindLast:
		return say(stops, "%s, as before Terraform last moved money on it: the service shows it late, or another hand undid that. Apply looks again, and if that tells no more it stops once.", holds)
	case reconcile.Unreadable:
		if e.Hidden == reconcile.LostRecord {
			return say(stops, "%s, and %s, so that nothing tells what an earlier run has moved. Apply takes what the card holds as it is and stops; the apply after it moves the money.", holds, e.Hidden)
		}
		return say(stops, "%s, and may have had this movement already: %s. Apply stops once and says what to do.", holds, e.Hidden)
	case reconcile.OverCap:
		return say(stops, "%s, and what came to it without an explanation counts, since it may be a top-up: with that, this one may pass max_top_up_per_month.", holds)
	}
	return nil
}

// hadInMonth says what counts as topped up in a month, or in that of the record, if later.
func hadInMonth(had reconcile.TopUps, month reconcile.Month, limit usd.Amount) string {
	sum := had.Sum.String() + " USD count (top-ups, and what came unexplained, since it may be one)"
	switch {
	case month > had.Month:
		sum = "nothing counts yet"
	case had.Sum >= reconcile.Unknown:
		sum = "an unknown sum counts, since its money_record was lost"
	}
	month = max(month, had.Month)
	return fmt.Sprintf("in %s %s, of at most %s USD (max_top_up_per_month); the cap begins anew on %s.",
		month.First().Format("January 2006"), sum, limit, (month + 1).First().Format(time.DateOnly))
}

func excess(name, operation string, moved transfer.Transfer) diag.Diagnostic {
	return diag.NewWarningDiagnostic("More or less money moved than asked: "+operation,
		fmt.Sprintf("After this call, %s holds %s USD, which is %s USD other than what it held before, the movement and its transactions lead "+
			"to. The service may have ignored the amount. Where Terraform manages the card, amount in the state is as it was planned. "+
			"Look at the card in the dashboard, and put it right with the actions vcard_card_fund and vcard_card_withdraw.",
			name, moved.CardBalance, moved.Excess.Abs()))
}

// stopped says why nothing was moved, and how the money moves after all.
func stopped(card model, operation string, halted *transfer.StoppedError, record reconcile.Record) diag.Diagnostic {
	name, m := capitalized(card.name()), halted.Movement
	again := fmt.Sprintf("If it was made already, take amount out of the configuration and apply, then set it to %s and apply: neither moves money, and the state is right. "+
		"If it was not, apply again: what the card holds now is taken as it is, and the money moves.", m.Before+m.Delta)
	if m.Purpose == reconcile.ForTopUp {
		again = "Plan again: what the card holds now is taken as it is, and it is topped up if that is still due."
	}
	title := "Could not " + operation + ": it may have been made already"
	text := fmt.Sprintf("Nothing was sent. %s holds %s USD, %s: a run that was cut off or an action may have made it. %s", name, halted.Balance, fitting(m.Delta, halted.Found, halted.TopUp), again)
	switch halted.Reason {
	case reconcile.BehindLast:
		title = "Could not " + operation + ": the card is as before the last movement"
		text = fmt.Sprintf("Nothing was sent. %s holds %s USD, as before Terraform last moved money on it: the service shows it late, or another hand undid that movement. "+
			"Look at the card in the dashboard. Where it shows the card so too, apply again: what it holds is taken as it is, and the money moves.", name, halted.Balance)
	case reconcile.NotDue:
		title = "Could not " + operation + ": it is not due any more"
		text = fmt.Sprintf("Nothing was sent. %s holds %s USD by now, which is not under top_up.below (%s USD). %s", name, halted.Balance, m.Range.Below, again)
	case reconcile.IntoRange:
		title = "Could not " + operation + ": it would be topped up again"
		text = "Nothing was sent. " + withdrawsIntoTopUp(card, halted.Balance+m.Delta, m.Range.Below)
	case reconcile.OverCap:
		title = "Could not " + operation + ": it would pass max_top_up_per_month"
		text = "Nothing was sent. Of " + card.name() + " " + hadInMonth(record.TopUps, 0, *m.Range.Limit) + " " + again
	case reconcile.Unreadable:
		text = fmt.Sprintf("Nothing was sent. %s holds %s USD, and %s, which may be this movement, made by a run that was cut off. %s", name, halted.Balance, halted.Unread, again)
		if halted.Unread == reconcile.LostRecord {
			title = "Could not " + operation + ": nothing tells what was moved before"
			text = fmt.Sprintf("Nothing was sent. %s holds %s USD now%s, and %s, so that nothing tells whether a run that was cut off has made this movement. %s",
				name, halted.Balance, loadedWith(card), halted.Unread, again)
		}
	case reconcile.NotShown:
		title = "Could not " + operation + ": the service says it did, and the card does not show it"
		text = fmt.Sprintf("The service answered that it was made, and the card holds %s USD. %s %s", halted.Balance,
			"Nothing is sent again until the card shows it, which each plan looks for, or until you give it up.", giveUp(card, []reconcile.Movement{m.Movement}))
		if halted.Refusal != nil {
			text = fmt.Sprintf("The service answered that it has met the idempotency key before (%s), and the card, which holds %s USD, does not show this movement. "+
				"Look at its transactions in the dashboard first. %s", strings.TrimSuffix(halted.Refusal.Error(), "."), halted.Balance, again)
		}
	}
	return diag.NewErrorDiagnostic(title, text)
}

// notToppedUp says that a card got another status since its top-up was planned.
func notToppedUp(card model, operation string, unusable *transfer.StatusError) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Could not "+operation+": the card is "+string(unusable.Status),
		fmt.Sprintf("Nothing was sent. The top-up was planned for a card in use. The service now shows %s as %s, with %s USD. "+
			"Look at the card in the dashboard, then plan again: cards that are neither active nor frozen are not topped up.",
			card.name(), unusable.Status, unusable.Balance))
}

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
