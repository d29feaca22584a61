package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// WalletCheck is what happens when a plan takes more than the wallet holds.
type WalletCheck string

// What WalletCheck can be; the zero value warns.
const (
	WalletCheckWarn  WalletCheck = "warn"
	WalletCheckError WalletCheck = "error"
	WalletCheckOff   WalletCheck = "off"
)

// PlannedSpend is what the plan of one card does to the wallet, in USD.
type PlannedSpend struct {
	Card            string // its name
	Taken, Returned usd.Amount
	// Doubtful is what may be taken besides: a run that was cut off may have made it, or
	// apply may stop for it. MaxTakenPerPlan counts it, the check of the wallet does not.
	Doubtful usd.Amount
	Holds    usd.Amount // on the card, of which no more than Returned returns
	// Again says that core plans the card a second time, to replace it, and drops what
	// is a warning. Counted and CountedTaken are what the first time has counted.
	Again        bool
	Counted      usd.Amount // Taken less Returned
	CountedTaken usd.Amount // MostTaken
}

// MostTaken is what MaxTakenPerPlan counts, whatever returns to the wallet: at apply, nothing
// tells a replacement from a new card, so the plan counts both in full, too.
func (p PlannedSpend) MostTaken() usd.Amount { return p.Taken + p.Doubtful }

// spent is what the cards that were planned so far do to the wallet, in USD.
type spent struct {
	net     usd.Amount     // what they take, less what they return
	upfront usd.Amount     // what they take, before anything returns
	taken   usd.Amount     // what they take at most; never above MaxTakenPerPlan
	settled usd.Amount     // what they hold
	largest []PlannedSpend // those that take most
}

const mostNamed = 3

// add counts what a card does to the wallet.
func (t *spent) add(p PlannedSpend) error {
	var errs [4]error
	t.net, errs[0] = usd.Sum(t.net, p.Taken, -p.Returned, -p.Counted)
	t.upfront, errs[1] = usd.Sum(t.upfront, max(0, p.Taken-max(0, p.Counted)))
	t.taken, errs[2] = usd.Sum(t.taken, max(0, p.MostTaken()-p.CountedTaken))
	t.settled, errs[3] = usd.Sum(t.settled, p.Holds)
	if p.MostTaken() > 0 {
		t.largest = append(slices.Clone(t.largest), p)
		slices.SortStableFunc(t.largest, func(a, b PlannedSpend) int { return cmp.Compare(b.MostTaken(), a.MostTaken()) })
		t.largest = t.largest[:min(len(t.largest), mostNamed)]
	}
	return errors.Join(errs[:]...)
}

func (t spent) nameLargest() string {
	var names []string
	for _, p := range t.largest {
		names = append(names, fmt.Sprintf("%s with %s USD", p.Card, p.MostTaken()))
	}
	return "Most goes to " + strings.Join(names, ", ") + "."
}

// spend is what a plan does to the wallet, as far as it is made.
type spend struct {
	mu      sync.Mutex
	spent   spent
	cards   int  // that were planned
	waits   bool // a card waits for others, to tell of all
	isAlone bool // one has waited, and none came
	wallet  fetchedOnce[plannedWallet]
}

// add counts what a card does, unless the plan would take more than the bound, nil for none.
// It returns what the plan does with this card.
func (s *spend) add(p PlannedSpend, bound *usd.Amount) (with spent, counted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	with = s.spent
	err = with.add(p)
	if err != nil {
		return with, false, err
	}
	if bound != nil && p.MostTaken() > 0 && with.taken > *bound {
		return with, false, nil
	}
	s.cards++
	s.spent = with
	return with, true, nil
}

func (s *spend) soFar() spent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// plannedWallet is the wallet, and what is on cards, in whole cents, or why each is not known.
type plannedWallet struct {
	Balance, CardsTotalBalance usd.Amount
	err, cardsErr              error
}

func (w plannedWallet) problem() error { return cmp.Or(w.err, w.cardsErr) }

// isShort reports whether the wallet cannot pay for this by itself, as far as is known.
func (w plannedWallet) isShort(t spent) bool { return t.net > 0 && (w.err != nil || t.net > w.Balance) }

// mayReturn is what cards hold that were not planned yet.
func (w plannedWallet) mayReturn(t spent) usd.Amount { return max(0, w.CardsTotalBalance-t.settled) }

// isUnpayable reports whether nothing that is planned later can return enough.
func (w plannedWallet) isUnpayable(t spent) bool {
	return w.isShort(t) && w.problem() == nil && t.net-w.Balance > w.mayReturn(t)
}

// Spend counts what the plan of a card does to the wallet, and refuses a card with which the
// plan takes more than MaxTakenPerPlan. It counts while a plan is applied as well, when core
// plans each card again: some amounts are known only then. A plan that takes more than the
// wallet holds is told once, before the first write; after that the wallet is being spent.
// While no calls can be made, it says what is not checked.
func (s *Session) Spend(ctx context.Context, p PlannedSpend) diag.Diagnostics {
	if s == nil {
		return nil
	}
	with, counted, err := s.spend.add(p, s.MaxTakenPerPlan)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The plan moves more than can be counted", err.Error())}
	}
	if !counted {
		return diag.Diagnostics{s.takesTooMuch(with)}
	}
	var diags diag.Diagnostics
	if !s.Known() && p.Taken > 0 && s.Told("unchecked") == 0 {
		diags.AddWarning("The wallet, BINs and labels are not checked by this plan",
			"The provider's configuration depends on values that are known only after apply, so this plan cannot ask the service "+
				"whether the wallet can pay, whether the BINs exist, and whether live cards have these labels already. "+
				"Apply what the configuration depends on first, for example with -target, to have it checked.")
	}
	if p.MostTaken() == 0 || !s.IsPlanning() {
		return diags
	}
	wallet, err := s.plannedWallet(ctx)
	if err != nil || !wallet.isShort(with) {
		return diags
	}
	t, isMine := s.spend.awaitOthers(ctx)
	if !isMine || !s.IsPlanning() || s.plan.unplanned.Load() > 0 {
		return diags
	}
	if wallet.isShort(t) {
		diags.Append(s.walletDiagnostic(t, wallet, p.Again)...)
	}
	return diags
}

const (
	// batchWindow is how long no card of a plan has come when it is told what all take.
	batchWindow = time.Second
	// shortWindow takes its place where cards are planned one after the other, and where
	// new cards are looked for.
	shortWindow = 50 * time.Millisecond
)

// awaitOthers waits until no other card is planned any more, so that one diagnostic
// speaks of all. False where another card waits already.
func (s *spend) awaitOthers(ctx context.Context) (t spent, isMine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits {
		return t, false
	}
	s.waits = true
	defer func() { s.waits = false }()
	window := batchWindow
	if s.isAlone {
		window = shortWindow
	}
	began, before := s.cards, -1
	for ; before != s.cards && ctx.Err() == nil; s.mu.Lock() {
		before = s.cards
		s.mu.Unlock()
		select {
		case <-time.After(window):
		case <-ctx.Done():
		}
	}
	s.isAlone = s.isAlone || s.cards == began
	return s.spent, true
}

// walletDiagnostic says once that the wallet cannot pay, or cannot be read.
func (s *Session) walletDiagnostic(t spent, wallet plannedWallet, onlyRefuses bool) diag.Diagnostics {
	title, detail := fmt.Sprintf("The plan takes at least %s USD from a wallet that holds %s USD", t.net, wallet.Balance), notPayable(t, wallet)
	what, refuses := "short", s.WalletCheck == WalletCheckError
	err := wallet.problem()
	_, isOutage := errors.AsType[*transport.OutageError](err) // which every call tells
	switch {
	case isOutage && !refuses:
		return nil
	case err != nil:
		failure := ErrorDiagnostic("see whether the wallet can pay for this plan", err)
		what, title, detail = "unread", "The plan is not checked against the wallet", sentence(failure.Summary())+" "+failure.Detail()
	case refuses && wallet.isUnpayable(t):
		what = "unpayable"
	default:
		refuses = false
	}
	switch {
	case onlyRefuses && !refuses || s.Told(what) > 0:
		return nil
	case refuses:
		return diag.Diagnostics{diag.NewErrorDiagnostic(title, detail+` To plan it all the same, set wallet_check = "warn" in the provider configuration.`)}
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(title, detail)}
}

const planStatement = "What is planned later comes on top: the statement of the plan (vcard statement) has the sum."

func notPayable(t spent, wallet plannedWallet) string {
	outlook := "The service refuses what the wallet cannot pay, so part of the plan would fail at apply."
	if !wallet.isUnpayable(t) {
		outlook = fmt.Sprintf("The account's other cards hold %s USD: the plan can be paid if enough of that returns in time, "+
			"as from a tainted card that is terminated before the new one is issued (not with create_before_destroy).", wallet.mayReturn(t))
	}
	return fmt.Sprintf("Loads, issuance fees, funds and top-ups planned so far, less what they return, pass the wallet's balance by %s USD. %s %s %s "+
		"Deposit first (the data source vcard_deposit_addresses lists where), or plan for less.",
		t.net-wallet.Balance, t.nameLargest(), outlook, planStatement)
}

// takesTooMuch refuses a card, in full once.
func (s *Session) takesTooMuch(with spent) diag.Diagnostic {
	text := fmt.Sprintf("With this card, the plan takes %s USD so far, and max_taken_per_plan is %s USD.", with.taken, *s.MaxTakenPerPlan)
	if s.Told("over") == 0 {
		text += " That is the sum of loads, issuance fees, funds and top-ups, whatever returns to the wallet. " + with.nameLargest() + " " + planStatement +
			"\n\nIf these cards exist already, this is the wrong workspace, or its state is lost: do not apply. " +
			"If the plan is meant to take this much, raise max_taken_per_plan in the provider configuration."
	}
	return diag.NewErrorDiagnostic("Plan exceeds max_taken_per_plan", text)
}

// PaidUpfront returns what the plan so far takes from the wallet before anything
// returns to it, and what the wallet holds, in USD, where that is too little.
func (s *Session) PaidUpfront(ctx context.Context) (upfront, wallet usd.Amount, tooMuch bool) {
	if !s.IsPlanning() || s.WalletCheck == WalletCheckOff {
		return 0, 0, false
	}
	upfront = s.spend.soFar().upfront
	now, err := s.plannedWallet(ctx)
	return upfront, now.Balance, err == nil && now.err == nil && upfront > now.Balance
}

// plannedWallet is the wallet as it is planned with, read once, also where it cannot be. One that
// is not to be checked pays for all.
func (s *Session) plannedWallet(ctx context.Context) (plannedWallet, error) {
	if s.WalletCheck == WalletCheckOff || !s.Known() {
		return plannedWallet{Balance: usd.Max}, nil
	}
	return s.spend.wallet.get(ctx, func(ctx context.Context) (w plannedWallet, err error) {
		now, err := s.Client.WalletBalance(ctx)
		var balanceErr error
		w.Balance, balanceErr = now.Balance.Floor()
		w.err, w.cardsErr = cmp.Or(err, balanceErr), &transport.ShapeError{Field: "cards_total_balance", Problem: "missing"}
		if now.CardsTotalBalance != nil {
			w.CardsTotalBalance, w.cardsErr = now.CardsTotalBalance.Floor()
		}
		return w, ctx.Err()
	})
}
