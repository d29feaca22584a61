// Package ledger keeps the double-entry journal of every account, without which no money moves.
package ledger

import (
	"errors"
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Kind says what a ledger account holds.
type Kind string

// An account has one ledger account of each kind, and one Card for each card.
const (
	Wallet    Kind = "wallet"
	Card      Kind = "card"
	Holds     Kind = "holds"     // authorized, not yet settled
	Fees      Kind = "fees"      // what the service earned
	Merchants Kind = "merchants" // what was spent, less refunds
	Deposits  Kind = "deposits"  // minus what came in from outside
	Loss      Kind = "loss"      // minus what nobody could be made to pay
)

func kinds() []Kind { return []Kind{Wallet, Holds, Fees, Merchants, Deposits, Loss} }

// mayOwe tells whether a balance below zero is right.
func (k Kind) mayOwe() bool { return k == Deposits || k == Loss }

// OpenAccounts makes the ledger accounts of a new account.
func OpenAccounts(tx *store.Tx, accountID int64) error {
	for _, kind := range kinds() {
		if _, err := Open(tx, accountID, kind); err != nil {
			return err
		}
	}
	return nil
}

// Open makes a ledger account and returns its id.
func Open(tx *store.Tx, accountID int64, kind Kind) (int64, error) {
	return tx.Insert(`INSERT INTO ledger_accounts (account_id, kind) VALUES (?, ?)`, accountID, kind)
}

// Balance returns what is on the one ledger account of a kind.
func Balance(tx *store.Tx, accountID int64, kind Kind) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT balance FROM ledger_accounts WHERE account_id = ? AND kind = ?`, accountID, kind)
}

// Leg is one side of an entry.
type Leg struct {
	kind   Kind
	cardID int64 // the ledger account, when kind is Card
	amount usd.Amount
}

// On is a leg on the one ledger account of a kind; a negative amount debits it.
func On(kind Kind, amount usd.Amount) Leg { return Leg{kind: kind, amount: amount} }

// OnCard is a leg on the ledger account that Open made.
func OnCard(ledgerAccountID int64, amount usd.Amount) Leg {
	return Leg{kind: Card, cardID: ledgerAccountID, amount: amount}
}

// Post writes an entry and changes the balances. Legs that do not add up to zero, and
// balances that must not be negative, are the caller's mistake; callers check what a
// user may take before they post.
func Post(tx *store.Tx, accountID int64, kind string, legs ...Leg) error {
	return PostFor(tx, accountID, "", kind, legs...)
}

// PostFor is Post for money that a transaction moves.
func PostFor(tx *store.Tx, accountID int64, transactionID, kind string, legs ...Leg) error {
	var card *int64 // its ledger account
	for _, leg := range legs {
		if leg.kind == Card {
			card = &leg.cardID
		}
	}
	entry, err := tx.Insert(`
		INSERT INTO ledger_entries (account_id, kind, card_account_id, transaction_id, created_at) VALUES (?, ?, ?, NULLIF(?, ''), ?)`,
		accountID, kind, card, transactionID, tx.Now().UnixMilli())
	if err != nil {
		return err
	}
	var sum usd.Amount
	for _, leg := range legs {
		sum += leg.amount
		if leg.amount == 0 {
			continue
		}
		if err := leg.post(tx, accountID, entry); err != nil {
			return fmt.Errorf("posting %s: %w", kind, err)
		}
	}
	if sum != 0 {
		return fmt.Errorf("posting %s: the legs are off by %s USD", kind, sum)
	}
	return nil
}

// post returns a refusal.
func (l Leg) post(tx *store.Tx, accountID, entry int64) error {
	condition, which := `kind = ?`, any(l.kind)
	if l.kind == Card {
		condition, which = `id = ?`, l.cardID
	}
	var id int64
	var balance usd.Amount
	found, err := tx.Get([]any{&id, &balance}, `
		UPDATE ledger_accounts SET balance = balance + ? WHERE account_id = ? AND `+condition+` RETURNING id, balance`, l.amount, accountID, which)
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New("no ledger account of kind " + string(l.kind))
	case balance < 0 && !l.kind.mayOwe():
		return fmt.Errorf("%s would be at %s USD", l.kind, balance)
	}
	if l.kind == Card {
		err := tx.Exec(`INSERT OR REPLACE INTO daily_balances (ledger_account_id, day, balance) VALUES (?, ?, ?)`,
			id, store.Day(tx.Now()), balance)
		if err != nil {
			return err
		}
	}
	return tx.Exec(`INSERT INTO ledger_postings (entry_id, ledger_account_id, amount, balance) VALUES (?, ?, ?, ?)`, entry, id, l.amount, balance)
}
