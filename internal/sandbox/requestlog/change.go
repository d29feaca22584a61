package requestlog

import (
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Change is what a call has changed.
type Change struct {
	Wallet         usd.Amount // what came into the wallet; below zero, left it
	Fee            usd.Amount // what of that the service got
	Before, After  Standing   // of the card
	EntryID        int64      // of the ledger; 0: it posted none
	StatusChangeID int64      // 0: the status stayed
}

// Standing is what a card holds, and its status. Without a status there is no card.
type Standing struct {
	Balance usd.Amount
	Status  string
}

// Moved is what came onto a card from the wallet; below zero, it went back.
func (c Change) Moved() usd.Amount { return -c.Wallet - c.Fee }

// Changes tells whether the call asked for a change.
func (e *Entry) Changes() bool { return e.Method != http.MethodGet }

// Reading is what a change is told by.
type Reading struct {
	wallet, fees        usd.Amount
	entry, statusChange int64
	card                Standing
}

// Read reads an account and one of its cards, of which there may be none. The calls of a
// file change something one after the other: what differs afterwards in the same
// transaction is the call's doing.
func Read(tx *store.Tx, accountID int64, cardID string) (r Reading, err error) {
	_, err = tx.Get([]any{&r.wallet, &r.fees, &r.entry, &r.statusChange, &r.card.Balance, &r.card.Status}, `
		SELECT w.balance, f.balance, (SELECT COALESCE(MAX(id), 0) FROM ledger_entries), (SELECT COALESCE(MAX(id), 0) FROM status_changes),
		       COALESCE(l.balance, 0), COALESCE(c.status, '')
		FROM ledger_accounts w JOIN ledger_accounts f ON f.account_id = w.account_id AND f.kind = 'fees'
		LEFT JOIN cards c ON c.public_id = ? AND c.account_id = w.account_id LEFT JOIN ledger_accounts l ON l.id = c.ledger_account_id
		WHERE w.account_id = ? AND w.kind = 'wallet'`, cardID, accountID)
	return r, err
}

// Until returns what was changed between the reading and a later one.
func (r Reading) Until(later Reading) Change {
	c := Change{Wallet: later.wallet - r.wallet, Fee: later.fees - r.fees, Before: r.card, After: later.card}
	if later.entry != r.entry {
		c.EntryID = later.entry
	}
	if later.statusChange != r.statusChange {
		c.StatusChangeID = later.statusChange
	}
	if c.EntryID == 0 && c.StatusChangeID == 0 { // as a response that was given before
		c.Before = c.After
	}
	return c
}
