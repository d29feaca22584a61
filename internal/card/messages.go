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
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// replaceAdvice follows an error about lowering amount. A plan with -replace gets that error too, because the provider
// cannot see the option in the first plan of a card. The advice is empty if the amount is too low for a new card.
func replaceAdvice(amount usd.Amount) string {
	if amount < api.MinimumLoad {
		return ""
	}
	return " If you passed -replace: run terraform taint on this resource instead, then apply."
}

// withdrawsIntoTopUp explains why a withdrawal is refused. after is the balance that it would leave, and below is
// top_up.below, both in USD.
func withdrawsIntoTopUp(card model, after, below usd.Amount) string {
	return fmt.Sprintf("Lowering amount leaves %s with %s USD, less than top_up.below (%s USD). "+
		"The next plan would then top the card up again. Lower amount by less, lower top_up.below as well, or remove %s.",
		card.name(), after, below, topUpAttributes(card))
}

// notFound returns the error for a card that the service does not find. As long as no card was found, the detail is not
// repeated.
func notFound(card model, err error, s *session.Session) diag.Diagnostic {
	title := "Card not found: " + card.name()
	alreadyReported := !s.FirstTime(session.TopicUnknownCard, "")
	if alreadyReported && !s.Cards.HasFound() {
		return diag.NewErrorDiagnostic(title, "")
	}
	return diag.NewErrorDiagnostic(title, session.Cause(err)+
		" That does not mean that the card was terminated: the service still returns terminated cards. "+whyNotFound(s)+
		"\n\nThe card stays in the state. If you are sure that it is gone, run terraform state rm for it and remove its block. If the block stays, the next apply issues a new card."+
		"\n\nOther cards may be affected too. If the service finds none of the cards, only this error has details.")
}

// whyNotFound names the possible reasons, and says what to check.
func whyNotFound(s *session.Session) string {
	if s.Sandbox == nil {
		return "The API key may belong to another account, or the service may have a problem. " +
			"Check that VCARD_API_KEY (api_key) and base_url belong to the account that owns the card. " +
			"If base_url is a sandbox, check that it serves the right file."
	}
	reason := "may not be the one that contains the card."
	if s.Sandbox.Created {
		reason = "was missing and has just been created empty."
	}
	return "The sandbox file " + s.Sandbox.Path + " " + reason +
		" Put the earlier file back; a pipeline must keep this file together with the state. If the file has moved, set sandbox.path or VCARD_SANDBOX to its new location."
}

// notIssued returns the error for a card that was not issued, or may have been issued.
func notIssued(request api.IssueCardRequest, err error) diag.Diagnostic {
	var candidates string
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok && len(undecided.Candidates) > 0 {
		candidates = "\n\nThe new card may be listed here. If so, import it, or terminate it in the dashboard, before the next apply issues another:"
		for _, candidate := range undecided.Candidates {
			candidates += fmt.Sprintf("\n  %q, %s USD:\n    terraform import ADDRESS %s", candidate.Label, candidate.Balance, candidate.ID)
		}
	}
	operation := fmt.Sprintf("issue the card %q on BIN %s", request.Label, request.BinID)
	return errorWithAdvice(operation, err, candidates)
}

// errorWithAdvice returns session.ErrorDiagnostic with more advice at the end. The advice is "", or starts with the
// space or line breaks that separate it from the detail. If there is no detail, as for a repeated outage, the advice
// stands alone.
func errorWithAdvice(operation string, err error, advice string) diag.Diagnostic {
	failure := session.ErrorDiagnostic(operation, err)
	return diag.NewErrorDiagnostic(failure.Summary(), strings.TrimLeft(failure.Detail()+advice, "\n "))
}

// issuedButNotFrozen returns the error for a new card that was not frozen, or may have been frozen.
func issuedButNotFrozen(card model, err error) diag.Diagnostic {
	status := "It is active"
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if undecided {
		status = "It may be frozen already"
	}
	balance := card.Balance.Amount().String()
	return errorWithAdvice("freeze the new "+card.name(), err, "\n\nThe card exists and holds "+balance+" USD. "+status+". "+
		"Terraform marks the card as tainted, so the next apply would terminate it and issue another. "+
		"To keep it, run terraform untaint on this resource and apply again: that freezes the card.")
}

// issueWarnings returns the warnings about a new card. shown maps settings to the service's values that differ from the
// configured ones.
func issueWarnings(card model, request api.IssueCardRequest, issuance api.Issuance, shown map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	different := differences(shown, &card)
	if len(different) > 0 {
		diags.AddWarning("Card was issued with different settings",
			fmt.Sprintf("%s has different settings: %s. The service uses these values; the state keeps the requested ones.",
				capitalized(card.name()), tfkit.Enumerate(different))+adoptAdvice(shown))
	}
	if request.Amount != issuance.Card.Balance {
		diags.AddWarning("Unexpected initial balance: "+card.name(),
			fmt.Sprintf("Terraform requested a load of %s USD, but the card has a balance of %s USD. "+
				"Terraform does not correct the difference, and the state keeps amount = %s. "+
				"If no purchase explains the difference, check in the dashboard what the wallet was charged, and contact the service's support.",
				request.Amount, issuance.Card.Balance, request.Amount))
	}
	for _, other := range issuance.PossibleDuplicates {
		diags.AddWarning("Possible duplicate card: "+nameOf(other),
			fmt.Sprintf("This card appeared on the same BIN with a matching label while %s was being issued. Its balance is %s USD. "+
				"It may be a second card from the same request, or a card that someone else issued. If nobody needs it, terminate it in the dashboard. To keep it, write a resource block for it and import it: terraform import ADDRESS %s",
				card.name(), other.Balance, other.ID))
	}
	diags.Append(session.LostResponseWarning("issue "+card.name(), issuance.How.LostResponse())...)
	if issuance.How == api.Found && !request.GeneratedLabel {
		diags.AddWarning("Card was identified by its label",
			fmt.Sprintf("The response to the request to issue %s was lost or unusable. The provider found a new card with the same label, BIN and load, and added it to the state. "+
				"Another pipeline, or another alias of this provider, may have issued that card. "+
				"If so, remove the card from this state with terraform state rm. The next apply then issues another card. To avoid such mix-ups, use unique labels, or leave label out.", card.name()))
	}
	return diags
}

// listsUnmanaged says how to find live cards that are not in the state.
const listsUnmanaged = "`vcard statement --no-unmanaged` lists such cards if they are not in this state, with import blocks. " +
	"It reads a saved plan, and needs data \"vcard_cards\" \"all\" {} in the configuration."

// labelExists warns of live cards that have the label of a new card. There must be at least one.
func labelExists(cards []api.CardListItem) diag.Diagnostic {
	first := capitalized(nameOf(cards[0]))
	text := first + " already has this label."
	if len(cards) > 1 {
		text = fmt.Sprintf("%s and %d more already have this label.", first, len(cards)-1)
	}
	text += " Applying this plan issues another card." +
		"\n\nTerraform shows one of these warnings and counts the rest. " + listsUnmanaged +
		"\n\nWrong workspace or lost state: do not apply. Renamed resource: add a moved block. Two cards wanted: use different labels. " +
		"If this plan replaces that card, no action is needed."
	return diag.NewAttributeWarningDiagnostic(path.Root("label"), "Card with this label already exists", text)
}

// willUnfreeze warns of a plan that unfreezes a card which was frozen outside Terraform.
func willUnfreeze(card model) diag.Diagnostic {
	return diag.NewAttributeWarningDiagnostic(path.Root("frozen"), "Plan unfreezes a card that was frozen outside Terraform: "+card.name(),
		"The card was frozen by someone, by an action, or by the service because its balance fell below auto_freeze_at. "+
			"The configuration has frozen = false, so applying this plan unfreezes the card.\n\nTo keep it frozen, set frozen = true.")
}

// generatedLabelsExist warns of live cards that an interrupted run may have left.
func generatedLabelsExist(count int, prefix string) diag.Diagnostic {
	subject := fmt.Sprintf("%d live cards have labels that were", count)
	if count == 1 {
		subject = "1 live card has a label that was"
	}
	return diag.NewWarningDiagnostic("Cards with generated labels already exist", fmt.Sprintf(
		"%s generated with the prefix %q within the last week. Such cards may be in this state, in another workspace, or left by an interrupted run."+
			"\n\nIf no run was interrupted and the state is complete, no action is needed. Otherwise do not apply. "+listsUnmanaged+" "+
			"Before you import a card, check that no other workspace manages it."+
			"\n\nIf you set label, the plan checks that label instead.", subject, prefix))
}

// labelsNotRead warns that the labels of live cards could not be read.
func labelsNotRead(err error) diag.Diagnostic {
	reason, todo := session.ReadFailure(err)
	text := "The provider could not list the live cards. " + reason + " A live card may already have the label of a card that this plan issues."
	if todo != "" {
		text += "\n\n" + todo
	}
	text += "\n\nIf an earlier run was interrupted, plan again before you apply. If the check fails again, look for cards with the planned labels in the dashboard."
	return diag.NewWarningDiagnostic("Labels of new cards were not checked", text)
}

// adoptAdvice says how to adopt the service's values that a configuration may have, and what to do about an empty
// label. The advice is "", or starts with the space that separates it from the text before it.
func adoptAdvice(shown map[string]string) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if isConfigurable(name, shown[name]) {
			names = append(names, name)
		}
	}
	advice := ""
	if len(names) > 0 {
		advice = fmt.Sprintf(" To adopt the service's values, write them into the configuration (%s). That does not replace the card.", tfkit.Enumerate(names))
	}
	label, differs := shown["label"]
	if differs && label == "" {
		advice += " An empty label cannot be configured. If label is set, you can leave it out; that does not replace the card."
	}
	return advice
}

// isConfigurable reports whether a configuration may have this value of a setting.
func isConfigurable(attribute, value string) bool {
	switch attribute {
	case "label":
		return checkLabelLength(value) == "" && checkOneLine(value) == ""
	case "spending_limit":
		limit, err := usd.Parse(value)
		return err == nil && limit >= usd.Cent
	}
	return value != ""
}

// rejection returns session.ErrorDiagnostic, with advice if the reason may be the card's last known status, or the
// amount in a withdrawal.
func rejection(status api.CardStatus, operation string, err error) diag.Diagnostic {
	rejected := statusRejection(err)
	if rejected == nil {
		return session.ErrorDiagnostic(operation, err)
	}
	advice := adviceForRejection(status, rejected)
	if advice == "" {
		return session.ErrorDiagnostic(operation, err)
	}
	return errorWithAdvice(operation, err, "\n\n"+advice)
}

// adviceForRejection returns what to do about a rejection whose reason may be the card's last known status, or the amount
// in a withdrawal. It returns "" if there is no such advice.
func adviceForRejection(status api.CardStatus, rejected *transport.Error) string {
	if status == api.StatusTerminated {
		return "The card " + terminatedForGood + " Run terraform plan again. If the configuration still contains this card, the new plan issues another one."
	}
	isFrozen := status == api.StatusFrozen || rejected.Code == "card_frozen"
	if isFrozen && strings.HasSuffix(rejected.Path, "/unfreeze") {
		return "If the card's balance is below auto_freeze_at, fund the card before you unfreeze it. " +
			"Remove frozen from the configuration, raise amount and apply (or use the action vcard_card_fund), then try again."
	}
	if isFrozen {
		return "The card is frozen, which may be the reason. " +
			"Unfreeze it with frozen = false on its vcard_card or with the action vcard_card_unfreeze, then try again."
	}
	undocumented := status != "" && !status.IsKnown()
	if undocumented {
		return fmt.Sprintf("The service shows the card as %s, an undocumented status, which may be the reason. "+
			"Check the card in the dashboard. If it is gone for good, remove its vcard_card with terraform state rm ADDRESS. "+
			"If that vcard_card is still in the configuration, the next apply issues a new card.", status)
	}
	if rejected.Status == 400 && strings.HasSuffix(rejected.Path, "/withdraw") {
		return "The service may not accept an amount for withdrawals. If so, withdraw in the dashboard. " +
			"If Terraform manages the card, also restore the previous amount in the configuration, so that the next apply does not try again."
	}
	return ""
}

// terminatedForGood completes a sentence that starts with the card.
const terminatedForGood = "is terminated, which is final: it has no balance and no details, and its status cannot change."

// statusRejection returns the service's rejection of a call if the card's status may be the reason, else nil. An
// UndecidedError may contain a rejection too, but that call may have taken effect, so it counts as none.
func statusRejection(err error) *transport.Error {
	rejected, ok := errors.AsType[*transport.Error](err)
	_, undecided := errors.AsType[*transport.UndecidedError](err)
	if !ok || undecided {
		return nil
	}
	if rejected.LacksFunds() || rejected.Code == "card_terminated" {
		return nil // the response itself gives the reason
	}
	switch rejected.Status {
	case 400, 404, 409, 422:
		return rejected
	}
	return nil
}

// movementNoun describes a movement, as in "funding of 50.00 USD".
func movementNoun(delta usd.Amount) string {
	if delta < 0 {
		return "withdrawal of " + (-delta).String() + " USD"
	}
	return "funding of " + delta.String() + " USD"
}

// describeMove describes a movement on a card. Its text completes "this plan …".
func describeMove(delta usd.Amount) string {
	if delta < 0 {
		return "withdraws " + (-delta).String() + " USD from the card"
	}
	return "funds the card with " + delta.String() + " USD"
}

// describePending says what is known about a pending transfer.
func describePending(card model, pending reconcile.Pending) string {
	text := "An earlier apply sent a request to " + operationOf(card.name(), pending.Delta)
	if pending.Answered {
		return text + ". The service confirmed the transfer, but the card does not show it yet. Until it does, Terraform moves no other money on this card."
	}
	return text + ". Its outcome is not known yet. Until it is known, Terraform moves no other money on this card."
}

// pendingAdvice says what to do about a pending transfer, in paragraphs that follow the facts. A plan without top_up that
// moves no money on the card abandons the transfer. If the transfer was a change of amount and the money did move, the new
// amount has to become the baseline, so that Terraform does not move the money a second time.
func pendingAdvice(card model, pending reconcile.Movement) string {
	advice := "\n\nPlan again in a minute: each plan checks the outcome. Usually nothing else is needed." +
		"\n\nIf the transfer stays pending, you can abandon it. First check in the dashboard whether the money moved; if it may still arrive, wait. "
	topUp := topUpAttributes(card)
	if pending.Purpose == reconcile.ForTopUp || !card.Amount.IsKnown() {
		change := "leave amount out"
		if card.Amount.IsKnown() {
			change = "set amount to " + card.Amount.Amount().String()
		}
		return advice + "Otherwise " + change + ", remove " + topUp + ", and apply: that moves no money. You can restore " + topUp + " afterwards."
	}
	return advice + fmt.Sprintf("If top_up is set, remove %[1]s while you do this, and restore %[1]s afterwards. "+
		"If the money did not move, set amount to %[2]s and apply. If it moved, remove amount and apply, then set amount to %[3]s and apply. None of this moves money.",
		topUp, card.Amount.Amount(), pending.LoadedBefore+pending.Delta)
}

// topUpAttributes names the attributes to remove from the configuration of a card that must not be topped up.
func topUpAttributes(card model) string {
	if card.MaxTopUpPerMonth.IsNull() {
		return "top_up"
	}
	return "top_up and max_top_up_per_month"
}

// stillPending warns after a refresh that the outcome of a transfer is not known yet, because of err.
func stillPending(card model, pending reconcile.Pending, err error) diag.Diagnostic {
	reason := session.Cause(err)
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		reason = session.CauseOfUndecided(undecided)
	}
	return diag.NewWarningDiagnostic("Earlier transfer is still pending",
		describePending(card, pending)+" "+reason+pendingAdvice(card, pending.Movement()))
}

// willStopForPending warns of a plan whose apply stops before it moves money on this card.
func willStopForPending(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Apply will stop because an earlier transfer is pending: "+card.name(),
		describePending(card, pending)+pendingAdvice(card, pending.Movement()))
}

// mayStopForPending warns of a plan that does not know yet whether it moves money on this card.
func mayStopForPending(card model, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Apply may stop because an earlier transfer is pending: "+card.name(),
		describePending(card, pending)+" Some values are known only during apply. If other money has to move then, apply stops."+
			pendingAdvice(card, pending.Movement()))
}

// stoppedForPending returns the error for a transfer that was not sent, because an earlier one is pending.
func stoppedForPending(card model, operation string, pending reconcile.Pending) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Could not "+operation+": an earlier transfer is pending",
		"Nothing was sent. "+describePending(card, pending)+pendingAdvice(card, pending.Movement()))
}

// willAbandonPending warns of a plan that abandons a transfer. amountIsNull reports whether the plan has no amount.
func willAbandonPending(card model, pending reconcile.Pending, amountIsNull bool) diag.Diagnostic {
	target := pending.LoadedBefore + pending.Delta
	var advice string
	if pending.Purpose == reconcile.ForTopUp {
		advice = "If it may still arrive, do not apply: restore top_up and plan again until the card shows it. Otherwise apply."
	} else if !card.Amount.IsKnown() { // any amount would become the baseline, and so abandon the transfer
		advice = "If it may still arrive, do not apply: plan again until the card shows it. Otherwise apply."
	} else if amountIsNull {
		advice = "If it may still arrive, do not apply: set amount back to " + target.String() + " and plan again until the card shows it. " +
			"Otherwise apply. After that, the first value of amount becomes the baseline and moves no money."
	} else {
		advice = "If it moved or may still arrive, do not apply: set amount back to " + target.String() + " and plan again until the card shows it. " +
			"If it did not move, apply."
	}
	return diag.NewWarningDiagnostic("Plan abandons a pending transfer: "+card.name(),
		describePending(card, pending)+" This plan moves no money on the card. Applying it drops that transfer and accepts the card's balance."+
			"\n\nFirst check in the dashboard whether the money moved. "+advice)
}

// mayAbandonPending warns of a plan that cannot tell yet whether it abandons a transfer, because top_up or amount is
// unknown.
func mayAbandonPending(card model, pending reconcile.Pending, topUpIsUnknown bool) diag.Diagnostic {
	text := " The value of amount or top_up is known only during apply. If top_up turns out to be unset and no money has to move, apply drops this transfer and accepts the card's balance."
	const alternative = " Alternatively, first apply the resources that the value depends on, with -target, and plan again."
	var keep string
	if topUpIsUnknown {
		keep = "keep the transfer pending: set top_up to a literal value." + alternative
	} else if pending.Purpose == reconcile.ForTopUp {
		keep = "keep the transfer pending: restore top_up." + alternative
	} else if card.Amount.IsKnown() {
		keep = fmt.Sprintf("keep the transfer pending: set amount to %s, the amount after this transfer.", pending.LoadedBefore+pending.Delta) + alternative
	} else { // a literal amount would become the baseline, move no money, and so abandon the transfer
		keep = "do not apply. Plan again until the outcome is known."
	}
	return diag.NewWarningDiagnostic("Plan may abandon a pending transfer: "+card.name(),
		describePending(card, pending)+text+"\n\nBefore you apply, check in the dashboard whether the money moved. "+
			"If it did not move, you can apply. If it moved or may still arrive, "+keep)
}

// changedBy describes a change of a balance, as in "increased by 5.00 USD".
func changedBy(delta usd.Amount) string {
	if delta < 0 {
		return "decreased by " + (-delta).String() + " USD"
	}
	return "increased by " + delta.String() + " USD"
}

const (
	outcomeNotShown = "The balance does not show whether this transfer was made."
	// lastTransferNotShown continues a text that ends with the card's balance. More sentences follow it.
	lastTransferNotShown = ", as if Terraform's last transfer had not been made. " +
		"The service may not show that transfer yet, or someone may have reversed it. "
)

// explainBalance describes what a card's balance shows about a transfer of delta. unexplained is the change of the
// balance that no transaction explains. Both are in USD. If withTopUp is true, a top-up may be part of that change.
func explainBalance(delta, unexplained usd.Amount, withTopUp bool) string {
	if unexplained > 0 && delta > 0 {
		return fmt.Sprintf("Since Terraform last recorded the balance, the card may have gained up to %s USD that no transaction explains. That may include this transfer.", unexplained)
	}
	if unexplained < 0 && delta < 0 {
		return fmt.Sprintf("Since Terraform last recorded it, the card's balance has %s, and no transaction explains why. That may include this transfer.", changedBy(unexplained))
	}
	if withTopUp {
		return "The balance is what it would be after this transfer and a top-up."
	}
	if unexplained != 0 { // it went in the other direction, so the reason is not LeftOver but LooksEither
		return "The balance is what it would be after this transfer."
	}
	return outcomeNotShown
}

// moveWarnings returns the warnings about a transfer that was made.
func moveWarnings(card model, operation string, m reconcile.Movement, result transfer.Transfer) diag.Diagnostics {
	diags := session.LostResponseWarning(operation, result.How.LostResponse())
	if result.How == api.AlreadyDone {
		diags.Append(alreadyApplied(card, operation, m, result))
	} else if result.LeftOver != 0 {
		diags.AddWarning("Unexplained balance change before a transfer",
			fmt.Sprintf("The balance of %s had %s before the %s. No transaction explains this. "+
				"Someone else, an action or an interrupted run may have moved this money, or a transaction may not be listed yet. "+
				"The planned transfer was made, and the card now holds %s USD. "+
				"If that is too much or too little, correct the balance in the dashboard, or with the actions vcard_card_withdraw and vcard_card_fund.",
				card.name(), changedBy(result.LeftOver), movementNoun(m.Delta), result.CardBalance))
	} else if result.Ignored != "" {
		diags.AddWarning("Transfer made with incomplete transaction data",
			fmt.Sprintf("%s: before the %s, the provider checked whether an earlier run had already made it. That check was incomplete. %s. "+
				"The transfer was made, and the card now holds %s USD.\n\nCheck in the dashboard whether that balance is right. "+
				"If it is not, correct it there, or with the actions vcard_card_withdraw and vcard_card_fund.",
				capitalized(card.name()), movementNoun(m.Delta), capitalized(strings.TrimSuffix(result.Ignored, ".")), result.CardBalance))
	}
	if result.Excess != 0 {
		diags.Append(excessWarning(card.name(), m.Delta, result))
	}
	return diags
}

// alreadyApplied warns of a transfer that counts as made, because the card's balance shows that it was made before.
func alreadyApplied(card model, operation string, m reconcile.Movement, result transfer.Transfer) diag.Diagnostic {
	advice := fmt.Sprintf("If you want to move the same amount again, change amount by another %s USD and apply.", m.Delta.Abs())
	if m.Purpose == reconcile.ForTopUp {
		advice = "If someone else moved this money, a later plan tops the card up again when that is due."
	}
	return diag.NewWarningDiagnostic("Already applied: "+operation,
		fmt.Sprintf("%s already holds %s USD, the balance expected after this transfer. An interrupted apply, an action, or someone in the dashboard may have made this transfer. "+
			"Terraform treats the transfer as made and does not repeat it. %s",
			capitalized(card.name()), result.CardBalance, advice))
}

// previewWarnings returns the warning about a decision of a plan, or nothing if the decision needs none.
func previewWarnings(card model, d reconcile.Decision) diag.Diagnostics {
	text := previewText(card, d)
	if text == "" {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(previewTitle(d)+": "+card.name(), text)}
}

// previewTitle returns the title of a warning about a transfer, without the card's name.
func previewTitle(d reconcile.Decision) string {
	if d.Verdict == reconcile.Send && d.Reason == reconcile.OtherMoney {
		return "Unexplained balance change"
	}
	if mayBeDone(d) {
		return capitalized(movementNoun(d.Movement.Delta)) + " may already be done"
	}
	if d.Movement.Delta < 0 {
		return "Apply will stop before withdrawing " + (-d.Movement.Delta).String() + " USD"
	}
	return "Apply will stop before funding " + d.Movement.Delta.String() + " USD"
}

// mayBeDone reports whether the warning about a transfer says that it may already be done.
func mayBeDone(d reconcile.Decision) bool {
	switch d.Verdict {
	case reconcile.Made, reconcile.Undecided, reconcile.SendKey:
		return true
	}
	return d.Reason == reconcile.LooksEither || d.Reason == reconcile.LeftOver
}

// previewText returns the text of a warning about a transfer. It returns "" for a decision that needs no warning.
func previewText(card model, d reconcile.Decision) string {
	evidence := d.Evidence // what the balance and the transactions show about the transfer
	m := d.Movement
	balance := fmt.Sprintf("%s holds %s USD", capitalized(card.name()), evidence.Balance)

	switch d.Verdict {
	case reconcile.Undecided: // only a pending transfer gets this verdict from a plan
		return describePending(card, *d.RecordBefore.Pending) + " Apply checks again." +
			pendingAdvice(card, d.RecordBefore.Pending.Movement())
	case reconcile.SendKey:
		return fmt.Sprintf("%s. An interrupted apply of this plan may already have made this transfer. Apply repeats the request with the same idempotency key, so that the service does not make the transfer twice. "+
			"If something else caused this balance, this plan still %s. Before you apply, check in the dashboard what changed the balance.", balance, describeMove(m.Delta))
	case reconcile.Made:
		return balance + ". An interrupted apply, an action or someone else may already have made this transfer. Apply checks again, and does not make it a second time."
	case reconcile.Send:
		if d.Reason == reconcile.LooksEither {
			ifMade := "If it was, " + adviceToAccept(m)
			if m.Purpose == reconcile.ForTopUp {
				ifMade = "If it was, remove " + topUpAttributes(card) + " and plan again."
			}
			return fmt.Sprintf("%s. %s Apply checks again, then sends the request with an idempotency key. "+
				"The service makes the transfer only once, as long as it remembers the key.\n\nBefore you apply, check in the dashboard whether the transfer was made. %s", balance, outcomeNotShown, ifMade)
		}
		if d.Reason == reconcile.OtherMoney && evidence.Remainder != 0 {
			return fmt.Sprintf("%s. Since Terraform last recorded it, the card's balance has %s, and no transaction explains why. Applying this plan still %s.\n\n%s",
				balance, changedBy(evidence.Remainder), describeMove(m.Delta), adviceToCheck(m))
		}
		return ""
	}

	// In the remaining cases, apply stops.
	switch d.Reason {
	case reconcile.LooksEither, reconcile.LeftOver:
		explanation := explainBalance(m.Delta, d.UnexplainedMoney(), m.MayHaveTopUp(evidence))
		return fmt.Sprintf("%s. %s Apply checks again. If the outcome is still unclear, apply stops once and says how to continue.", balance, explanation)
	case reconcile.BehindLast:
		return balance + lastTransferNotShown +
			"Apply checks again. If the balance is still the same, apply stops once and says how to continue."
	case reconcile.Unreadable:
		if evidence.Hidden == reconcile.DamagedRecord {
			next := "Then plan again: the new plan shows whether a top-up is due."
			if m.Purpose == reconcile.ForAmount {
				next = "The next plan shows this transfer again, even if it is already done. Before you apply that plan, check the card's transactions in the dashboard. " +
					"If the transfer was made, " + adviceToAccept(m)
			}
			return fmt.Sprintf("%s, and %s. The provider cannot tell what an earlier run moved. "+
				"Apply accepts the card's balance and stops. %s", balance, evidence.Hidden, next)
		}
		return fmt.Sprintf("%s. The provider cannot tell whether this balance includes the transfer. %s. Apply stops once and says what to do.",
			balance, capitalized(strings.TrimSuffix(evidence.Hidden, ".")))
	case reconcile.OverCap:
		return balance + ". Balance increases that no transaction explains count toward max_top_up_per_month. With these, this top-up may exceed the limit. " +
			"Apply stops once. Then plan again: the new plan adds only what the limit still allows."
	}
	return "" // for NotDue and IntoRange; checkWithdrawal is about the latter
}

// limitedTopUp returns the text of a warning about a top-up that max_top_up_per_month limits. The amounts are in USD.
func limitedTopUp(card model, needed, planned usd.Amount, topUps reconcile.TopUps, month reconcile.Month, limit usd.Amount) string {
	gets := "but gets only " + planned.String() + " USD"
	if planned == 0 {
		gets = "but gets none"
	}
	advice := "To top up more this month, raise max_top_up_per_month."
	if month <= topUps.Month && topUps.Sum >= reconcile.Unknown { // a higher limit leaves nothing either
		advice = "To top up this month, remove max_top_up_per_month."
	}
	return fmt.Sprintf("%s needs a top-up of %s USD, %s. %s\n\n%s", capitalized(card.name()), needed, gets, capUsage(topUps, month, limit), advice)
}

// capUsage says how much of max_top_up_per_month is used in the later of month and topUps.Month. If both are 0, the
// month is not known, and capUsage says what the limit is.
func capUsage(topUps reconcile.TopUps, month reconcile.Month, limit usd.Amount) string {
	latest := max(month, topUps.Month)
	if latest == 0 {
		return fmt.Sprintf("max_top_up_per_month is %s USD.", limit)
	}
	var used string
	if month > topUps.Month {
		used = fmt.Sprintf("none of max_top_up_per_month (%s USD) has been used", limit)
	} else if topUps.Sum >= reconcile.Unknown {
		used = fmt.Sprintf("all of max_top_up_per_month (%s USD) counts as used, because the card's money_record was lost", limit)
	} else {
		used = fmt.Sprintf("%s USD counts toward max_top_up_per_month (%s USD), including any balance increases that no transaction explains", topUps.Sum, limit)
	}
	return fmt.Sprintf("So far in %s, %s. The next month starts on %s.",
		latest.First().Format("January 2006"), used, (latest + 1).First().Format(time.DateOnly))
}

// frozenAfterWithdrawal warns of a card that is frozen after a withdrawal.
func frozenAfterWithdrawal(facts string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Withdrawal froze the card", facts+
		" The service freezes a card whose balance drops below auto_freeze_at. Fund and unfreeze the card to use it again.")
}

// excessWarning warns of a movement of delta USD after which the balance does not show this amount. name is the card's.
func excessWarning(name string, delta usd.Amount, result transfer.Transfer) diag.Diagnostic {
	difference := "more"
	if result.Excess < 0 {
		difference = "less"
	}
	return diag.NewWarningDiagnostic("Unexpected amount moved by the "+movementNoun(delta)+": "+name,
		fmt.Sprintf("After the request, %s holds %s USD. That is %s USD %s than expected from the earlier balance, this transfer and the card's transactions. "+
			"The service may have ignored the amount. If Terraform manages the card, its amount and topped_up do not include the difference. "+
			"Check the card in the dashboard, and correct its balance there, or with the actions vcard_card_fund and vcard_card_withdraw.",
			name, result.CardBalance, result.Excess.Abs(), difference))
}

// notMovedAfterStop returns the error for a transfer that was stopped. It gives the reason and the next step.
func notMovedAfterStop(card model, operation string, stop *transfer.StoppedError, record reconcile.Record) diag.Diagnostic {
	m := stop.Movement
	balance := fmt.Sprintf("%s holds %s USD", capitalized(card.name()), stop.Balance)
	advice := adviceToRepeat(m)

	var reason, text string
	switch stop.Reason {
	case reconcile.BehindLast:
		reason = "the card does not show the last transfer"
		text = "Nothing was sent. " + balance + lastTransferNotShown +
			"Check the card in the dashboard. If the dashboard also shows " + stop.Balance.String() + " USD, apply again: Terraform accepts the balance and moves the money."
	case reconcile.NotDue:
		reason = "it is no longer due"
		text = fmt.Sprintf("Nothing was sent. %s, which is not below top_up.below (%s USD). %s", balance, m.Range.Below, advice)
	case reconcile.IntoRange:
		reason = "it would trigger a top-up"
		text = "Nothing was sent. " + withdrawsIntoTopUp(card, stop.Balance+m.Delta, m.Range.Below)
	case reconcile.OverCap:
		reason = "it would exceed max_top_up_per_month"
		usage := capUsage(record.TopUps, record.TopUps.Month, *m.Range.Limit)
		text = fmt.Sprintf("Nothing was sent. %s. %s %s", balance, usage, advice)
	case reconcile.Unreadable:
		reason = "it may already be done"
		amounts := ""
		if stop.Unread == reconcile.DamagedRecord {
			reason = "the card's money_record is lost"
			amounts = amountsInState(card)
		}
		text = fmt.Sprintf("Nothing was sent. %s. %s. An interrupted run may already have made this transfer.%s %s",
			balance, capitalized(strings.TrimSuffix(stop.Unread, ".")), amounts, advice)
	case reconcile.NotShown:
		if stop.Refusal == nil {
			reason = "the card does not show it"
			text = "The service confirmed the transfer, but " + card.name() + " holds " + stop.Balance.String() + " USD, which does not show the transfer. " +
				"Until the card shows it, Terraform moves no other money on this card, unless you abandon the transfer." + pendingAdvice(card, m)
		} else {
			reason = "the idempotency key was already used"
			if m.Purpose == reconcile.ForTopUp { // the advice for amount starts with a check already
				advice = "First check the card's transactions in the dashboard. " + advice
			}
			text = fmt.Sprintf("The service has already seen the idempotency key of this request. %s %s, which does not show this transfer. %s",
				session.Cause(stop.Refusal), balance, advice)
		}
	default: // LooksEither or LeftOver
		reason = "it may already be done"
		text = fmt.Sprintf("Nothing was sent. %s. %s An interrupted run or an action may have made this transfer. %s",
			balance, explainBalance(m.Delta, stop.Unexplained, stop.MayHaveTopUp), advice)
	}
	return diag.NewErrorDiagnostic("Could not "+operation+": "+reason, text)
}

// adviceToRepeat says how to continue after a transfer was stopped.
func adviceToRepeat(m reconcile.Movement) string {
	if m.Purpose == reconcile.ForTopUp {
		return "Plan again: Terraform accepts the card's balance, and tops the card up if that is still due."
	}
	return "Check the card's transactions in the dashboard before you apply again. If the transfer was made, " + adviceToAccept(m) +
		" If it was not made, apply again: Terraform accepts the card's balance and moves the money."
}

// adviceToCheck says what to do about money that was moved before a transfer and that no transaction explains.
func adviceToCheck(m reconcile.Movement) string {
	check := "Check in the dashboard who moved the money."
	if m.Purpose == reconcile.ForTopUp {
		return check
	}
	return check + " If it was meant to be this transfer, " + adviceToAccept(m)
}

// adviceToAccept says how to make Terraform count a change of amount as made. Its text continues a sentence.
func adviceToAccept(m reconcile.Movement) string {
	effect := "Neither apply moves money."
	if m.Range != nil { // either apply may top the card up
		effect = "Neither apply makes this transfer."
	}
	return fmt.Sprintf("remove amount and apply, then set amount to %s and apply. %s", m.LoadedBefore+m.Delta, effect)
}

// notToppedUp returns the error for a top-up that was not sent, because of the card's status.
func notToppedUp(card model, operation string, unusable *transfer.StatusError) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Could not "+operation+": the card is "+string(unusable.Status),
		fmt.Sprintf("Nothing was sent. The service now shows %s as %s, with %s USD; only active and frozen cards are topped up. "+
			"Check the card in the dashboard, then plan again.",
			card.name(), unusable.Status, unusable.Balance))
}

// amountsInState says which amount and topped_up the state has for a card, in sentences that follow others. It leaves
// out an amount that is null and a topped_up of 0.
func amountsInState(card model) string {
	text := ""
	if card.Amount.IsKnown() {
		text += fmt.Sprintf(" The state has amount = %s.", card.Amount.Amount())
	}
	toppedUp := card.ToppedUp.Amount()
	if toppedUp != 0 {
		text += fmt.Sprintf(" The state has topped_up = %s.", toppedUp)
	}
	return text
}
