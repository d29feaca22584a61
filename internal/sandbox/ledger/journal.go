package ledger

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// OpeningBalance is the kind of the entry that an account begins with.
const OpeningBalance = "opening balance"

// EntryKinds returns the kinds of entries.
func EntryKinds() []string {
	return []string{
		OpeningBalance, "deposit confirmed", "card issued", "card funded", "card withdrawn", "card terminated", "authorized", "settled", "refunded", "fee",
	}
}

// Movements is the condition of the two indexes of entries e that move an owner's
// money, to the letter.
const Movements = `e.kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated')`

// Entry is a change of money as it stands in the journal.
type Entry struct {
	ID            int64
	Kind          string
	At            wire.Time
	TransactionID string // that moved the money; empty: none did
	Run           string // the key of the run that asked for it; empty: none did, as far as the request log goes
	Postings      []*Posting
}

// Posting is what an entry did to one ledger account.
type Posting struct {
	Kind    Kind
	CardID  string // of a card's
	Label   string
	Last4   string
	Amount  usd.Amount
	Balance usd.Amount // of the ledger account, with it
}

// Debit is what left the ledger account.
func (p *Posting) Debit() usd.Amount { return max(0, -p.Amount) }

// Credit is what came onto the ledger account.
func (p *Posting) Credit() usd.Amount { return max(0, p.Amount) }

// Filter picks entries of an account; what is empty picks all.
type Filter struct {
	Kind         string
	ID           string
	Transactions []string // the ids of those that moved the money
}

// Journal returns a page of the entries that a filter picks, newest first, and whether
// there is more.
func Journal(tx *store.Tx, accountID int64, f Filter, page wire.Page) (entries []*Entry, more bool, err error) {
	where := store.NewWhere(`account_id = ?`, accountID).
		And(f.Kind != "", `kind = ?`, f.Kind).
		And(f.ID != "", `id = ?`, f.ID).
		And(len(f.Transactions) > 0, `transaction_id IN (SELECT value FROM json_each(?))`, string(wire.Encode(f.Transactions)))
	entries, more, err = store.Page[Entry](tx, page, `
		SELECT id, kind, created_at, COALESCE(transaction_id, ''),
			COALESCE((SELECT `+requestlog.RunKey+` FROM request_log r JOIN runs u ON u.id = r.run_id WHERE r.entry_id = e.id), '')
		FROM ledger_entries e `+where.SQL+` ORDER BY id DESC`, where.Args...)
	for _, e := range entries {
		if err != nil {
			return nil, false, err
		}
		e.Postings, err = store.List[Posting](tx, `
			SELECT l.kind, COALESCE(c.public_id, ''), COALESCE(c.label, ''), COALESCE(c.last4, ''), p.amount, p.balance
			FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id LEFT JOIN cards c ON c.ledger_account_id = l.id
			WHERE p.entry_id = ? ORDER BY p.amount, l.id`, e.ID)
	}
	return entries, more, err
}

// Summary returns an account's ledger accounts, the wallet first, and all cards as one, the last.
func Summary(tx *store.Tx, accountID int64) (lines []Line, err error) {
	onCards := Line{Name: string(Card)}
	for _, kind := range kinds() {
		balance, err := Balance(tx, accountID, kind)
		if err != nil {
			return nil, err
		}
		lines = append(lines, Line{string(kind), balance})
		onCards.Balance -= balance // since every entry adds up to zero
	}
	return append(lines, onCards), nil
}

// DailyBalance is what a card held at the end of a day.
type DailyBalance struct {
	Day     int64
	Balance usd.Amount
}

// DailyBalances returns those of a card's ledger account from the last one before a
// day on, the oldest first.
func DailyBalances(tx *store.Tx, ledgerAccountID, from int64) ([]*DailyBalance, error) {
	return store.List[DailyBalance](tx, `
		SELECT day, balance FROM daily_balances WHERE ledger_account_id = ?1 AND day >= (
			SELECT COALESCE(MAX(day), 0) FROM daily_balances WHERE ledger_account_id = ?1 AND day <= ?2) ORDER BY day`, ledgerAccountID, from)
}
