package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// WalletCheck says what happens if a plan takes more than the wallet holds, or if the wallet cannot be read.
type WalletCheck string

// The values of WalletCheck. The zero value warns.
const (
	WalletCheckWarn  WalletCheck = "warn"
	WalletCheckError WalletCheck = "error"
	WalletCheckOff   WalletCheck = "off"
)

// PlannedSpend is what the plan of one card does to the wallet, in USD.
type PlannedSpend struct {
	CardName    string     // for messages
	Taken       usd.Amount // from the wallet; never negative
	Returned    usd.Amount // to the wallet
	CardBalance usd.Amount // what the card holds before the plan; 0 for a new card
	// IsReplan is set if Terraform plans a card a second time, to replace it. Terraform drops the warnings of the
	// second plan.
	IsReplan     bool
	CountedNet   usd.Amount // Taken less Returned in the first plan; 0 unless IsReplan is set
	CountedTaken usd.Amount // Taken in the first plan; 0 unless IsReplan is set
}

// planTotals are what the cards planned so far do to the wallet, in USD.
type planTotals struct {
	net          usd.Amount     // taken less returned
	taken        usd.Amount     // the sum of Taken, before anything returns
	cardBalances usd.Amount     // the sum of CardBalance
	largest      []PlannedSpend // the cards that take most
}

// maxNamed limits the number of cards that a message names.
const maxNamed = 3

// add adds the plan of a card. The second plan of a card adds its difference from the first one to net, and what it
// takes beyond the first one to taken. The error says that a sum is out of range; the totals are then wrong.
func (t *planTotals) add(p PlannedSpend) error {
	newTaken := max(0, p.Taken-p.CountedTaken)
	var netErr, takenErr, balancesErr error
	t.net, netErr = usd.Sum(t.net, p.Taken, -p.Returned, -p.CountedNet)
	t.taken, takenErr = usd.Sum(t.taken, newTaken)
	t.cardBalances, balancesErr = usd.Sum(t.cardBalances, p.CardBalance)
	if newTaken > 0 {
		added := p
		added.Taken = newTaken
		cards := append(slices.Clone(t.largest), added) // a clone, because copies of the totals share the slice
		largestFirst := func(a, b PlannedSpend) int { return cmp.Compare(b.Taken, a.Taken) }
		slices.SortStableFunc(cards, largestFirst)
		count := min(len(cards), maxNamed)
		t.largest = cards[:count]
	}
	return errors.Join(netErr, takenErr, balancesErr)
}

// nameLargest names the cards that take most.
func (t planTotals) nameLargest() string {
	var amounts []string
	for _, p := range t.largest {
		amounts = append(amounts, fmt.Sprintf("%s USD for %s", p.Taken, p.CardName))
	}
	if len(amounts) == 1 {
		return "The largest amount is " + amounts[0] + "."
	}
	return "The largest amounts are:\n  - " + strings.Join(amounts, "\n  - ")
}

// addToTotals counts the plan of a card, unless it takes money and the plans would then take more than
// MaxTakenPerPlan. It returns the totals with this card, and whether it has counted the card. The error says that a
// sum is out of range.
func (s *Session) addToTotals(p PlannedSpend) (sums planTotals, counted bool, err error) {
	s.totalsLock.Lock()
	defer s.totalsLock.Unlock()
	sums = s.totals
	err = sums.add(p)
	if err != nil {
		return sums, false, err
	}
	isOverLimit := s.MaxTakenPerPlan != nil && sums.taken > *s.MaxTakenPerPlan
	if isOverLimit && p.Taken > 0 {
		return sums, false, nil
	}
	s.totals = sums
	return sums, true, nil
}

// totalsSoFar returns the totals of the cards counted so far.
func (s *Session) totalsSoFar() planTotals {
	s.totalsLock.Lock()
	defer s.totalsLock.Unlock()
	return s.totals
}

// walletBalances are the wallet's balance and the sum of all card balances, in USD, rounded down to whole cents.
type walletBalances struct {
	balance    usd.Amount
	cardsTotal usd.Amount
	balanceErr error // why balance is not known
	cardsErr   error // why cardsTotal is not known
}

func (w walletBalances) err() error { return cmp.Or(w.balanceErr, w.cardsErr) }

// mayBeShort reports whether the plan so far takes more than the wallet holds, or takes money from a wallet whose
// balance is not known.
func (w walletBalances) mayBeShort(t planTotals) bool {
	if t.net <= 0 {
		return false
	}
	return w.balanceErr != nil || t.net > w.balance
}

// returnable returns the sum of the balances of the cards that were not planned yet. That money may still return to
// the wallet.
func (w walletBalances) returnable(t planTotals) usd.Amount {
	return max(0, w.cardsTotal-t.cardBalances)
}

// isUnpayable reports whether the wallet could not pay for the plan so far even if the cards that were not planned yet
// returned their balances. If a balance is not known, it reports false.
func (w walletBalances) isUnpayable(t planTotals) bool {
	if w.err() != nil || t.net <= 0 {
		return false
	}
	shortfall := t.net - w.balance
	return shortfall > w.returnable(t)
}

// CountSpend counts what the plan of a card does to the wallet. It refuses a card with which a total is out of range, and
// one that would raise the amount taken above MaxTakenPerPlan. Both also apply to plans that Terraform makes during
// apply, when more amounts are known.
//
// CountSpend also checks the wallet until a change begins, because a change may move money. While the provider's
// configuration is unknown, it warns that the wallet is not checked.
func (s *Session) CountSpend(ctx context.Context, p PlannedSpend) diag.Diagnostics {
	if s == nil {
		return nil
	}
	sums, counted, err := s.addToTotals(p)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("Plan total is out of range",
			"The amounts in this plan add up to more than the provider can handle. Check amount and top_up of the planned cards: both are in USD, not in cents.")}
	}
	if !counted {
		return diag.Diagnostics{s.exceedsMaxTaken(sums)}
	}
	if !s.IsConfigured() {
		return s.warnUnchecked(p)
	}
	if !s.checksWallet() || sums.net <= 0 {
		return nil
	}
	wallet, err := s.readWallet(ctx)
	if err != nil {
		return nil // the call was cancelled
	}
	mayBeShort := wallet.mayBeShort(sums)
	if s.WalletCheck == WalletCheckError {
		cannotTell := mayBeShort && wallet.err() != nil
		if cannotTell || wallet.isUnpayable(sums) {
			return s.refuseUnpayable(p, sums, wallet)
		}
	}
	if !mayBeShort {
		return nil
	}
	if p.Taken == 0 || p.IsReplan { // the warning is for a card that takes money, in a plan whose warnings are shown
		return nil
	}
	return s.warnShort(sums, wallet)
}

// checksWallet reports whether plans are checked against the wallet at the moment.
func (s *Session) checksWallet() bool { return s.IsPlanning() && s.WalletCheck != WalletCheckOff }

// warnUnchecked warns once, at the first card that takes money, that the provider's configuration is unknown.
func (s *Session) warnUnchecked(p PlannedSpend) diag.Diagnostics {
	if p.Taken == 0 {
		return nil
	}
	if !s.FirstTime(TopicPlanUnchecked, "") {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Wallet, BINs and labels are not checked by this plan",
		"The provider configuration depends on values that are known only after apply. This plan therefore does not check "+
			"whether the wallet can pay, whether the BINs exist, or whether live cards already have these labels.\n\n"+
			"To have the plan checked, first apply what the configuration depends on, for example with -target.")}
}

// exceedsMaxTaken returns the error for a card that exceeds max_taken_per_plan. The first error has the full text.
func (s *Session) exceedsMaxTaken(sums planTotals) diag.Diagnostic {
	text := fmt.Sprintf("With this card, the plan takes %s USD so far, and max_taken_per_plan is %s USD.", sums.taken, *s.MaxTakenPerPlan)
	if s.FirstTime(TopicMaxTaken, "") {
		text += " The first amount is the sum of initial loads, issuance fees, funding and top-ups. Money that returns to the wallet is not deducted."
		text += "\n\n" + sums.nameLargest()
		text += "\n\nIf the plan issues cards that already exist, this is the wrong workspace, or its state is lost. " +
			"If the plan is meant to take this much, raise max_taken_per_plan in the provider configuration."
	}
	return diag.NewErrorDiagnostic("Plan exceeds max_taken_per_plan", text)
}

const (
	walletShort      = "Wallet cannot cover this plan"
	walletMayBeShort = "Wallet may not cover this plan" // other cards may still return enough
	walletUnread     = "Plan cannot be checked against the wallet"
)

// refuseUnpayable refuses the plan with the first error, which has the full text. After that, it refuses each card
// that takes money with a brief error.
func (s *Session) refuseUnpayable(p PlannedSpend, sums planTotals, wallet walletBalances) diag.Diagnostics {
	const allow = "\n\nTo plan anyway, set wallet_check = \"warn\" in the provider configuration; vcard statement then shows the exact total."
	var title, text, brief string
	if wallet.err() != nil {
		title = walletUnread
		text = unreadText(wallet, "With wallet_check = \"error\", the provider refuses a plan that it cannot check.")
		brief = "The provider cannot read the wallet, so wallet_check = \"error\" refuses this plan."
	} else {
		title = walletShort
		text = shortfallText(sums, wallet) + "\n\n" + sums.nameLargest() + depositAdvice
		brief = walletSoFar(sums, wallet)
	}
	if s.FirstTime(TopicUnpayable, "") {
		return diag.Diagnostics{diag.NewErrorDiagnostic(title, text+allow)}
	}
	if p.Taken == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(title, brief)}
}

// warnShort warns once that the wallet may not cover the plan, or that it could not be read. It does not warn of an
// outage that affects other endpoints too, because other calls report that.
func (s *Session) warnShort(sums planTotals, wallet walletBalances) diag.Diagnostics {
	err := wallet.err()
	outage, ok := errors.AsType[*transport.OutageError](err)
	if ok && outage.Kind != transport.OutageEndpoint {
		return nil
	}
	if !s.FirstTime(TopicWalletShort, "") {
		return nil
	}
	if err != nil {
		return diag.Diagnostics{diag.NewWarningDiagnostic(walletUnread, unreadText(wallet, "If the wallet is short, part of the plan fails during apply."))}
	}
	title := walletMayBeShort
	if wallet.isUnpayable(sums) {
		title = walletShort
	}
	text := shortfallText(sums, wallet) + planStatement + "\n\n" + sums.nameLargest() + depositAdvice
	return diag.Diagnostics{diag.NewWarningDiagnostic(title, text)}
}

const (
	planStatement = " vcard statement shows the exact total of a saved plan."
	depositAdvice = "\n\nDeposit first (the data source vcard_deposit_addresses lists the addresses), or reduce the amounts in this plan."
)

func walletSoFar(sums planTotals, wallet walletBalances) string {
	return fmt.Sprintf("This plan takes %s USD so far; the wallet holds %s USD.", sums.net, wallet.balance)
}

func shortfallText(sums planTotals, wallet walletBalances) string {
	outlook := "The service refuses requests that the wallet cannot cover, so part of the plan would fail during apply."
	if !wallet.isUnpayable(sums) {
		outlook = fmt.Sprintf("The account's other cards hold %s USD. Apply can succeed if enough of that money returns first, "+
			"for example from a card that is terminated before its replacement is issued.", wallet.returnable(sums))
	}
	text := walletSoFar(sums, wallet)
	text += " The first amount is the sum of initial loads, issuance fees, funding and top-ups, less what the planned cards return."
	return text + " " + outlook
}

// unreadText describes a wallet that could not be read. The consequence is a sentence.
func unreadText(wallet walletBalances, consequence string) string {
	reason, todo := ReadFailure(wallet.err())
	if todo == "" {
		todo = "Check the wallet balance in the dashboard, or plan again later. If the error persists, contact the service's support."
	}
	return "The provider could not read the wallet. " + reason +
		" The provider therefore does not know whether the wallet can pay for this plan. " + consequence + "\n\n" + todo
}

// UpfrontCost returns what the plan so far takes from the wallet before anything returns, and the balance of the
// wallet, both in USD. It reports whether the cost exceeds that balance. If it reports false, the amounts may not be
// known.
func (s *Session) UpfrontCost(ctx context.Context) (upfront, balance usd.Amount, exceedsBalance bool) {
	if !s.checksWallet() {
		return 0, 0, false
	}
	upfront = s.totalsSoFar().taken
	wallet, err := s.readWallet(ctx)
	if err != nil || wallet.balanceErr != nil {
		return upfront, 0, false // whether that is reported is up to CountSpend
	}
	exceedsBalance = upfront > wallet.balance
	return upfront, wallet.balance, exceedsBalance
}

// readWallet reads the wallet, unless the session has read it already. A failure is part of the result, so that the
// wallet is not read again. The returned error says that this call was cancelled.
func (s *Session) readWallet(ctx context.Context) (walletBalances, error) {
	wallet, err := s.wallet.get(ctx, func(ctx context.Context) (walletBalances, error) {
		response, err := s.Client.WalletBalance(ctx)
		// ctx.Err is returned so that the session does not keep the result of a cancelled call.
		if err != nil {
			return walletBalances{balanceErr: err, cardsErr: err}, ctx.Err()
		}
		var wallet walletBalances
		wallet.balance, wallet.balanceErr = response.Balance.Floor()
		if response.CardsTotalBalance == nil {
			wallet.cardsErr = &transport.ShapeError{Field: "cards_total_balance", Problem: "is missing"}
		} else {
			wallet.cardsTotal, wallet.cardsErr = response.CardsTotalBalance.Floor()
		}
		return wallet, ctx.Err()
	})
	if err != nil && ctx.Err() == nil { // this call was not cancelled; the error is, for example, a panic
		return walletBalances{balanceErr: err, cardsErr: err}, nil
	}
	return wallet, err
}
