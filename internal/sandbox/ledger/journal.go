package ledger

import (
	"fmt"

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

// Movements is the condition, to the letter, of two indexes: entries e that move an owner's money.
const Movements = `e.kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated')`

// Entry is a change of money as it stands in the journal.
type Entry struct {
	ID            int64     `db:"id"`
	Kind          string    `db:"kind"`
	At            wire.Time `db:"created_at"`
	TransactionID string    `db:"transaction_id"` // that moved the money; empty: none did
	Run           string    `db:"run"`            // the key of the run that asked for it; empty: none did, as far as the request log goes
	Postings      []*Posting
}

// Posting is what an entry did to one ledger account.
type Posting struct {
	Kind    Kind       `db:"kind"`
	CardID  string     `db:"card_id"` // of a card's
	Label   string     `db:"label"`
	Last4   string     `db:"last4"`
	Amount  usd.Amount `db:"amount"`
	Balance usd.Amount `db:"balance"` // of the ledger account, with it
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

// Journal returns a page of the entries that a filter picks, newest first.
func Journal(tx *store.Tx, accountID int64, f Filter, page wire.Page) (entries []*Entry, more bool, err error) {
	where := store.NewWhere(`account_id = ?`, accountID).
		And(f.Kind != "", `kind = ?`, f.Kind).
		And(f.ID != "", `id = ?`, f.ID).
		And(len(f.Transactions) > 0, `transaction_id IN (SELECT value FROM json_each(?))`, string(wire.Encode(f.Transactions)))
	entries, more, err = store.Page[Entry](tx, page, `
		SELECT id, kind, created_at, COALESCE(transaction_id, '') AS transaction_id,
			COALESCE((SELECT `+requestlog.RunKey+` FROM request_log r JOIN runs u ON u.id = r.run_id WHERE r.entry_id = e.id), '') AS run
		FROM ledger_entries e `+where.SQL+` ORDER BY id DESC`, where.Args...)
	for _, e := range entries {
		if err != nil {
			return nil, false, err
		}
		e.Postings, err = store.List[Posting](tx, `
			SELECT l.kind, COALESCE(c.public_id, '') AS card_id, COALESCE(c.label, '') AS label, COALESCE(c.last4, '') AS last4, p.amount, p.balance
			FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id LEFT JOIN cards c ON c.ledger_account_id = l.id
			WHERE p.entry_id = ? ORDER BY p.amount, l.id`, e.ID)
	}
	return entries, more, err
}

// Summary returns an account's ledger accounts, the wallet first, and all cards as one, the last.
func Summary(tx *store.Tx, accountID int64) ([]*Line, error) {
	lines, err := store.List[Line](tx, `SELECT l.kind AS name, l.balance FROM json_each(?) k CROSS JOIN ledger_accounts l
		WHERE l.account_id = ? AND l.kind = k.value ORDER BY k.key`, string(wire.Encode(kinds())), accountID)
	onCards := &Line{Name: string(Card)}
	for _, line := range lines {
		onCards.Balance -= line.Balance // since every entry adds up to zero
	}
	return append(lines, onCards), err
}

// DailyBalance is what a card held at the end of a day.
type DailyBalance struct {
	Day     int64      `db:"day"`
	Balance usd.Amount `db:"balance"`
}

// DailyBalances returns those from the last one before a day on, the oldest first.
func DailyBalances(tx *store.Tx, ledgerAccountID, from int64) ([]*DailyBalance, error) {
	return store.List[DailyBalance](tx, `
		SELECT day, balance FROM daily_balances WHERE ledger_account_id = ?1 AND day >= (
			SELECT COALESCE(MAX(day), 0) FROM daily_balances WHERE ledger_account_id = ?1 AND day <= ?2) ORDER BY day`, ledgerAccountID, from)
}

// Line is a ledger account and what is on it. A card's name is its id.
type Line struct {
	Name    string     `json:"name" db:"name"`
	Balance usd.Amount `json:"balance" db:"balance"`
}

const maxProblems = 100

// Report is what an audit found.
type Report struct {
	Accounts []Line   `json:"accounts"`
	Balanced bool     `json:"balanced"`
	Problems []string `json:"problems,omitempty"` // why it is not balanced
}

// account is a ledger account with all that its balance must agree with.
type account struct {
	Line

	Kind   Kind       `db:"kind"`
	Posted usd.Amount `db:"posted"`
	Status string     `db:"status"` // of the card
}

// Audit recomputes an account's ledger from its postings: every entry
// adds up to zero, every balance is the sum of its postings, holds are what
// open authorizations keep back, only deposits and loss are negative, a
// terminated card holds nothing, and no index hides a card or a balance.
func Audit(tx *store.Tx, accountID int64) (Report, error) {
	accounts, err := store.List[account](tx, `
		WITH posted AS (
			SELECT p.ledger_account_id AS id, SUM(p.amount) AS total
			FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
			WHERE e.account_id = ? GROUP BY p.ledger_account_id)
		SELECT COALESCE(c.public_id, l.kind) AS name, l.balance, l.kind, COALESCE(posted.total, 0) AS posted, COALESCE(c.status, '') AS status
		FROM ledger_accounts l
		LEFT JOIN posted ON posted.id = l.id
		LEFT JOIN cards c ON c.ledger_account_id = l.id
		WHERE l.account_id = ? ORDER BY l.id`, accountID, accountID)
	if err != nil {
		return Report{}, err
	}
	report := Report{Accounts: []Line{}}
	for _, a := range accounts {
		report.Accounts = append(report.Accounts, a.Line)
		report.Problems = append(report.Problems, a.problems()...)
	}
	for _, check := range []func(*store.Tx, int64) ([]string, error){unbalancedEntries, wrongHolds, damages} {
		found, err := check(tx, accountID)
		if err != nil {
			return Report{}, err
		}
		report.Problems = append(report.Problems, found...)
	}
	report.Balanced = len(report.Problems) == 0
	report.Problems = report.Problems[:min(maxProblems, len(report.Problems))]
	return report, nil
}

func (a account) problems() (found []string) {
	if a.Balance != a.Posted {
		found = append(found, fmt.Sprintf("%s holds %s USD, its postings add up to %s USD", a.Name, a.Balance, a.Posted))
	}
	if a.Balance < 0 && !a.Kind.mayOwe() {
		found = append(found, fmt.Sprintf("%s is negative: %s USD", a.Name, a.Balance))
	}
	if a.Status == "terminated" && a.Balance != 0 {
		found = append(found, fmt.Sprintf("%s is terminated and holds %s USD", a.Name, a.Balance))
	}
	return found
}

func unbalancedEntries(tx *store.Tx, accountID int64) (found []string, err error) {
	type entry struct {
		ID   int64      `db:"id"`
		Kind string     `db:"kind"`
		Sum  usd.Amount `db:"sum"`
	}
	entries, err := store.List[entry](tx, `
		SELECT e.id, e.kind, SUM(p.amount) AS sum FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
		WHERE e.account_id = ? GROUP BY e.id HAVING SUM(p.amount) <> 0`, accountID)
	for _, e := range entries {
		found = append(found, fmt.Sprintf("entry %d (%s) adds up to %s USD", e.ID, e.Kind, e.Sum))
	}
	return found, err
}

// OpenHolds selects what authorizations t keep back that are not settled yet.
const OpenHolds = `
	SELECT COALESCE(SUM(t.amount), 0) FROM transactions t
	WHERE t.type = 'authorization' AND NOT EXISTS (SELECT 1 FROM transactions s WHERE s.parent_id = t.id)`

func wrongHolds(tx *store.Tx, accountID int64) ([]string, error) {
	posted, err := Balance(tx, accountID, Holds)
	if err != nil {
		return nil, err
	}
	open, err := store.Value[usd.Amount](tx, OpenHolds+` AND t.account_id = ?`, accountID)
	if err != nil || posted == open {
		return nil, err
	}
	return []string{fmt.Sprintf("holds are %s USD, open authorizations keep back %s USD", posted, open)}, nil
}

// damages are tables that their indexes do not agree with, as after a bit has flipped.
func damages(tx *store.Tx, _ int64) ([]string, error) {
	return store.Values[string](tx, `
		SELECT 'the file is damaged: ' || integrity_check FROM (SELECT 'cards' AS name UNION ALL SELECT 'ledger_accounts') t, pragma_integrity_check(t.name)
		WHERE integrity_check <> 'ok'`)
}
