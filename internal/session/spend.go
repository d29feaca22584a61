package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
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

// spend is what a plan does to the wallet, as far as it is made.
type spend struct {
	mu      sync.Mutex
	net     usd.Amount  // what it takes, less what it returns
	upfront usd.Amount  // what it takes
	settled usd.Amount  // what the cards hold that it has dealt with
	maybe   atomic.Bool // it was told that the plan may not be payable
	certain atomic.Bool // it was told that the plan is not
	// unchecked says that it was told that nothing is checked.
	unchecked atomic.Bool
	// unread says that it was told that the wallet cannot be read.
	unread atomic.Bool
	wallet fetchedOnce[plannedWallet]
}

// plannedWallet is the wallet, and what is on cards, in whole cents, or why each is not known.
type plannedWallet struct {
	Balance, CardsTotalBalance usd.Amount
	err, cardsErr              error
}

// AddPlannedSpend adds what this plan takes from the wallet and returns to it, and
// what the planned card holds, of which nothing more returns; in USD. After the
// session's first write it adds nothing, because apply plans again what was counted
// before. While no calls can be made, it says once what is not checked.
func (s *Session) AddPlannedSpend(taken, returned, holds usd.Amount) diag.Diagnostics {
	if s != nil && !s.Known() && taken > 0 && !s.spend.unchecked.Swap(true) {
		return diag.Diagnostics{diag.NewWarningDiagnostic("The wallet, BINs and labels are not checked by this plan",
			"The provider's configuration depends on values that are known only after apply, so this plan cannot ask the service "+
				"whether the wallet can pay, whether the BINs exist, and whether live cards have these labels already. "+
				"Apply what the configuration depends on first, for example with -target, to have it checked.")}
	}
	if !s.IsPlanning() {
		return nil
	}
	s.spend.mu.Lock()
	defer s.spend.mu.Unlock()
	net, netErr := usd.Sum(s.spend.net, taken, -returned)
	upfront, upfrontErr := usd.Sum(s.spend.upfront, taken)
	settled, settledErr := usd.Sum(s.spend.settled, holds)
	if err := cmp.Or(netErr, upfrontErr, settledErr); err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("The plan moves more than can be counted", err.Error())}
	}
	s.spend.net, s.spend.upfront, s.spend.settled = net, upfront, settled
	return nil
}

// WalletDiagnostic warns the first time that it finds the planned spend above the
// wallet's balance, and the first time that nothing which is planned later can
// return enough, or that it cannot tell; there it refuses the plan where the provider
// is told to. After the session's first write it returns nothing, because apply plans
// again from a wallet that is being spent.
func (s *Session) WalletDiagnostic(ctx context.Context) diag.Diagnostics {
	if !s.IsOnePlan() {
		return nil
	}
	s.spend.mu.Lock()
	net, settled := s.spend.net, s.spend.settled
	s.spend.mu.Unlock()
	if net <= 0 || s.WalletCheck == WalletCheckOff {
		return nil
	}
	wallet, known := s.plannedWallet(ctx)
	err := cmp.Or(wallet.err, wallet.cardsErr)
	_, isOutage := errors.AsType[*api.OutageError](err) // which every call tells
	switch {
	case known && net <= wallet.Balance, isOutage && s.WalletCheck != WalletCheckError, err != nil && s.spend.unread.Swap(true):
		return nil
	case err != nil:
		return diag.Diagnostics{s.notChecked(err)}
	}
	short, mayReturn := net-wallet.Balance, max(0, wallet.CardsTotalBalance-settled)
	certain := short > mayReturn
	switch {
	case certain && s.spend.certain.Swap(true), !certain && (s.spend.certain.Load() || s.spend.maybe.Swap(true)):
		return nil
	case !certain:
		return diag.Diagnostics{mayNotBePayable(net, wallet.Balance, mayReturn)}
	case s.WalletCheck == WalletCheckError:
		summary, detail := notPayable(net, wallet.Balance)
		return diag.Diagnostics{diag.NewErrorDiagnostic(summary, detail+planAllTheSame)}
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(notPayable(net, wallet.Balance))}
}

const planAllTheSame = ` To plan it all the same, set wallet_check = "warn" in the provider configuration.`

// notChecked says once why nothing tells whether the wallet can pay.
func (s *Session) notChecked(err error) diag.Diagnostic {
	const title = "The plan is not checked against the wallet"
	failure := ErrorDiagnostic("see whether the wallet can pay for this plan", err)
	detail := sentence(failure.Summary()) + " " + failure.Detail()
	if s.WalletCheck == WalletCheckError {
		return diag.NewErrorDiagnostic(title, detail+planAllTheSame)
	}
	return diag.NewWarningDiagnostic(title, detail)
}

const depositFirst = "What is planned later comes on top: the statement of the plan (vcard statement) has the sum. Deposit first (the data source vcard_deposit_addresses lists where), or plan for less."

func mayNotBePayable(net, wallet, mayReturn usd.Amount) diag.Diagnostic {
	return diag.NewWarningDiagnostic(
		fmt.Sprintf("The plan may not be payable: it takes at least %s USD, and the wallet holds %s USD", net, wallet),
		fmt.Sprintf("Loads, issuance fees, funds and top-ups planned so far, less what they return to the wallet, pass its balance by %s USD. "+
			"The account's other cards hold %s USD: the plan can be paid if enough of that returns in time, as from a tainted card that is terminated before the new one is issued (not with create_before_destroy). ",
			net-wallet, mayReturn)+depositFirst)
}

func notPayable(net, wallet usd.Amount) (summary, detail string) {
	return fmt.Sprintf("The plan takes at least %s USD from a wallet that holds %s USD", net, wallet),
		fmt.Sprintf("Loads, issuance fees, funds and top-ups of this plan, less what it returns to the wallet, pass the wallet's balance by at least %s USD. "+
			"The service refuses what the wallet cannot pay, so part of the plan would fail at apply. ", net-wallet) + depositFirst
}

// PaidUpfront returns what the plan so far takes from the wallet before anything
// returns to it, and what the wallet holds, in USD, where that is too little.
func (s *Session) PaidUpfront(ctx context.Context) (upfront, wallet usd.Amount, tooMuch bool) {
	if !s.IsPlanning() {
		return 0, 0, false
	}
	s.spend.mu.Lock()
	upfront = s.spend.upfront
	s.spend.mu.Unlock()
	now, known := s.plannedWallet(ctx)
	return upfront, now.Balance, known && upfront > now.Balance
}

// plannedWallet is the wallet as it is planned with, read once, also where it cannot be.
func (s *Session) plannedWallet(ctx context.Context) (wallet plannedWallet, known bool) {
	if s.WalletCheck == WalletCheckOff {
		return wallet, false
	}
	wallet, err := s.spend.wallet.get(ctx, func(ctx context.Context) (w plannedWallet, err error) {
		now, err := s.Client.WalletBalance(ctx)
		var balanceErr error
		w.Balance, balanceErr = now.Balance.Floor()
		w.err, w.cardsErr = cmp.Or(err, balanceErr), &api.ShapeError{Field: "cards_total_balance", Problem: "missing"}
		if now.CardsTotalBalance != nil {
			w.CardsTotalBalance, w.cardsErr = now.CardsTotalBalance.Floor()
		}
		return w, ctx.Err()
	})
	wallet.err = cmp.Or(wallet.err, err)
	return wallet, wallet.err == nil
}
