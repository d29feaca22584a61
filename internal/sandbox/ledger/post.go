// Package ledger keeps a double-entry journal for each account.
package ledger

import (
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Kind is the kind of a ledger account.
type Kind string

// An account has one ledger account of each kind except Card, and one of kind Card for each card.
const (
	Wallet    Kind = "wallet"
	Card      Kind = "card"
	Holds     Kind = "holds"     // authorized, not yet settled
	Fees      Kind = "fees"      // the service's fees
	Merchants Kind = "merchants" // settlements minus refunds
	Deposits  Kind = "deposits"  // deposits and the opening balance, as a negative amount
	Loss      Kind = "loss"      // what neither card nor wallet could pay, as a negative amount
)

// kinds returns all kinds except Card, the wallet first.
func kinds() []Kind { return []Kind{Wallet, Holds, Fees, Merchants, Deposits, Loss} }

// mayBeNegative reports whether the balance of a ledger account of this kind may be negative.
func (k Kind) mayBeNegative() bool { return k == Deposits || k == Loss }

// OpenAccounts creates the ledger accounts of a new account.
func OpenAccounts(tx *store.Tx, accountID int64) error {
	for _, kind := range kinds() {
		_, err := Open(tx, accountID, kind)
		if err != nil {
			return err
		}
	}
	return nil
}

// Open creates a ledger account and returns its id.
func Open(tx *store.Tx, accountID int64, kind Kind) (int64, error) {
	return tx.Insert(`INSERT INTO ledger_accounts (account_id, kind) VALUES (?, ?)`, accountID, kind)
}

// Balance returns the balance of an account's ledger account of a kind other than Card.
func Balance(tx *store.Tx, accountID int64, kind Kind) (usd.Amount, error) {
	return store.Value[usd.Amount](tx, `SELECT balance FROM ledger_accounts WHERE account_id = ? AND kind = ?`, accountID, kind)
}

// Leg is the part of an entry that changes the balance of one ledger account.
type Leg struct {
	kind          Kind
	cardAccountID int64 // the card's ledger account, if kind is Card
	amount        usd.Amount
}

// NewLeg returns a leg on the account's ledger account of a kind other than Card. A negative amount lowers the balance.
func NewLeg(kind Kind, amount usd.Amount) Leg { return Leg{kind: kind, amount: amount} }

// NewCardLeg returns a leg on a card's ledger account. A negative amount lowers the balance.
func NewCardLeg(ledgerAccountID int64, amount usd.Amount) Leg {
	return Leg{kind: Card, cardAccountID: ledgerAccountID, amount: amount}
}

// Post writes an entry and changes the balances. entryKind is one of EntryKinds. At most one leg may change the balance of
// the same ledger account. If a leg is on a card, the entry refers to that card's ledger account.
// Post returns an error if the legs do not add up to zero, or if a balance that must not be negative becomes negative.
// After an error, the database transaction must be rolled back.
func Post(tx *store.Tx, accountID int64, entryKind string, legs ...Leg) error {
	const noTransaction = ""
	return PostFor(tx, accountID, noTransaction, entryKind, legs...)
}

// PostFor is like Post, for money that a transaction of a card moves. transactionID is the public id of that transaction.
func PostFor(tx *store.Tx, accountID int64, transactionID, entryKind string, legs ...Leg) error {
	var cardAccountID *int64
	for _, leg := range legs {
		if leg.kind == Card {
			cardAccountID = &leg.cardAccountID
		}
	}
	entryID, err := tx.Insert(`
		INSERT INTO ledger_entries (account_id, kind, card_account_id, transaction_id, created_at)
		VALUES (?, ?, ?, NULLIF(?, ''), ?)`,
		accountID, entryKind, cardAccountID, transactionID, tx.Now().UnixMilli())
	if err != nil {
		return err
	}
	var sum usd.Amount
	for _, leg := range legs {
		sum += leg.amount
		if leg.amount == 0 { // it changes no balance
			continue
		}
		err := leg.post(tx, accountID, entryID)
		if err != nil {
			return fmt.Errorf("posting %s: %w", entryKind, err)
		}
	}
	if sum != 0 {
		return fmt.Errorf("posting %s: the legs add up to %s USD instead of 0.00 USD", entryKind, sum)
	}
	return nil
}

// post changes the balance of the leg's ledger account and adds a posting to the entry. For a card, it also updates the
// balance of the day.
func (l Leg) post(tx *store.Tx, accountID, entryID int64) error {
	where := store.NewWhere(`account_id = ? AND kind = ?`, accountID, l.kind)
	if l.kind == Card { // an account has several of this kind
		where = store.NewWhere(`account_id = ? AND id = ?`, accountID, l.cardAccountID)
	}
	var id int64
	var balance usd.Amount
	args := append([]any{l.amount}, where.Args...)
	found, err := tx.Get([]any{&id, &balance},
		`UPDATE ledger_accounts SET balance = balance + ? `+where.SQL+` RETURNING id, balance`, args...)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the account has no ledger account of kind %s", l.kind)
	}
	if balance < 0 && !l.kind.mayBeNegative() {
		return fmt.Errorf("the balance of %s would become %s USD", l.kind, balance)
	}
	if l.kind == Card {
		err := tx.Exec(`INSERT OR REPLACE INTO daily_balances (ledger_account_id, day, balance) VALUES (?, ?, ?)`,
			id, store.Day(tx.Now()), balance)
		if err != nil {
			return err
		}
	}
	return tx.Exec(`INSERT INTO ledger_postings (entry_id, ledger_account_id, amount, balance) VALUES (?, ?, ?, ?)`,
		entryID, id, l.amount, balance)
}
