package ledger

import (
	"fmt"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// OpeningBalance is the kind of the entry that gives an account its initial balance.
const OpeningBalance = "opening balance"

// EntryKinds returns the kinds of entries.
func EntryKinds() []string {
	return []string{
		OpeningBalance, "deposit confirmed", "card issued", "card funded", "card withdrawn", "card terminated",
		"authorized", "settled", "refunded", "fee",
	}
}

// Movements is the SQL condition for entries e that belong to no transaction. It must be the same as the condition of
// the indexes ledger_movements_by_account and ledger_movements_by_card, so that SQLite can use them.
const Movements = `e.kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated')`

// Entry is an entry of the journal.
type Entry struct {
	ID            int64     `db:"id"`
	Kind          string    `db:"kind"`
	At            wire.Time `db:"created_at"`
	TransactionID string    `db:"transaction_id"` // of the transaction that moved the money, if any
	Run           string    `db:"run"`            // the key of the run that requested it, if the request log has one
	Postings      []*Posting
}

// Posting is the change that an entry makes to one ledger account.
type Posting struct {
	Kind    Kind       `db:"kind"`
	CardID  string     `db:"card_id"` // empty unless Kind is Card
	Label   string     `db:"label"`   // of the card
	Last4   string     `db:"last4"`   // of the card
	Amount  usd.Amount `db:"amount"`
	Balance usd.Amount `db:"balance"` // of the ledger account, after the change
}

// Debit returns the amount taken from the ledger account, or 0.
func (p *Posting) Debit() usd.Amount { return max(0, -p.Amount) }

// Credit returns the amount added to the ledger account, or 0.
func (p *Posting) Credit() usd.Amount { return max(0, p.Amount) }

// Filter selects entries of an account. A field that is not set excludes no entry.
type Filter struct {
	Kind         string
	ID           string   // of the entry
	Transactions []string // public ids of transactions that moved the money
}

// Journal returns a page of the entries that match a filter, newest first, and reports whether there are more.
func Journal(tx *store.Tx, accountID int64, f Filter, page wire.Page) ([]*Entry, bool, error) {
	// json_each turns a JSON array into rows, so that one argument can contain any number of ids.
	where := store.NewWhere(`account_id = ?`, accountID).
		AndIf(f.Kind != "", `kind = ?`, f.Kind).
		AndIf(f.ID != "", `id = ?`, f.ID).
		AndIf(len(f.Transactions) > 0, `transaction_id IN (SELECT value FROM json_each(?))`, string(wire.Encode(f.Transactions)))
	entries, more, err := store.Page[Entry](tx, page, `
		SELECT id, kind, created_at, COALESCE(transaction_id, '') AS transaction_id,
			COALESCE((
				SELECT `+requestlog.RunKey+` FROM request_log r JOIN runs u ON u.id = r.run_id
				WHERE r.entry_id = e.id), '') AS run
		FROM ledger_entries e `+where.SQL+` ORDER BY id DESC`, where.Args...)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		// Debits come first, because their amounts are negative.
		e.Postings, err = store.List[Posting](tx, `
			SELECT l.kind, COALESCE(c.public_id, '') AS card_id, COALESCE(c.label, '') AS label, COALESCE(c.last4, '') AS last4,
				p.amount, p.balance
			FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id
			LEFT JOIN cards c ON c.ledger_account_id = l.id
			WHERE p.entry_id = ? ORDER BY p.amount, l.id`, e.ID)
		if err != nil {
			return nil, false, err
		}
	}
	return entries, more, nil
}

// Line is the balance of a ledger account, or the total of all cards.
type Line struct {
	Name    string     `json:"name" db:"name"` // the kind, or the id of a card
	Balance usd.Amount `json:"balance" db:"balance"`
}

// Summary returns the balances of an account's ledger accounts. The first line is the wallet, and the last line is the
// total of all cards.
func Summary(tx *store.Tx, accountID int64) ([]*Line, error) {
	// json_each turns the kinds into rows, with their positions as keys. CROSS JOIN makes SQLite look up each kind by an
	// index, without reading the ledger accounts of cards.
	lines, err := store.List[Line](tx, `
		SELECT l.kind AS name, l.balance
		FROM json_each(?) k CROSS JOIN ledger_accounts l
		WHERE l.account_id = ? AND l.kind = k.value ORDER BY k.key`, string(wire.Encode(kinds())), accountID)
	if err != nil {
		return nil, err
	}
	cards := &Line{Name: string(Card)}
	for _, line := range lines {
		cards.Balance -= line.Balance // the ledger accounts, including those of cards, add up to zero
	}
	return append(lines, cards), nil
}

// DailyBalance is a card's balance at the end of a day.
type DailyBalance struct {
	Day     int64      `db:"day"` // a number as in store.Day
	Balance usd.Amount `db:"balance"`
}

// DailyBalances returns a card's balances at the end of the days on which they changed, oldest first. It starts with
// the last change on or before firstDay, or with the first change if there is none.
func DailyBalances(tx *store.Tx, ledgerAccountID, firstDay int64) ([]*DailyBalance, error) {
	return store.List[DailyBalance](tx, `
		SELECT day, balance FROM daily_balances
		WHERE ledger_account_id = ?1 AND day >= (
			SELECT COALESCE(MAX(day), 0) FROM daily_balances WHERE ledger_account_id = ?1 AND day <= ?2)
		ORDER BY day`,
		ledgerAccountID, firstDay)
}

// maxProblems is the maximum number of problems in a report.
const maxProblems = 100

// Report is the result of an audit.
type Report struct {
	Accounts []Line   `json:"accounts"`
	Balanced bool     `json:"balanced"`
	Problems []string `json:"problems,omitempty"` // empty if Balanced is true
}

// auditedAccount is a ledger account with the values that Audit compares its balance with.
type auditedAccount struct {
	Line

	Kind   Kind       `db:"kind"`
	Posted usd.Amount `db:"posted"` // the sum of its postings
	Status string     `db:"status"` // of the card; empty for other ledger accounts
}

// Audit checks an account's ledger:
//   - every entry adds up to zero,
//   - every balance is the sum of its postings,
//   - the holds are the sum of the open authorizations,
//   - no balance is negative, except those of deposits and loss,
//   - terminated cards have a balance of zero,
//   - the tables of cards and ledger accounts agree with their indexes.
func Audit(tx *store.Tx, accountID int64) (Report, error) {
	accounts, err := store.List[auditedAccount](tx, `
		WITH posted AS (
			SELECT p.ledger_account_id AS id, SUM(p.amount) AS total
			FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
			WHERE e.account_id = ? GROUP BY p.ledger_account_id)
		SELECT COALESCE(c.public_id, l.kind) AS name, l.balance, l.kind, COALESCE(posted.total, 0) AS posted,
			COALESCE(c.status, '') AS status
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
		report.Problems = append(report.Problems, a.findProblems()...)
	}
	entries, err := checkEntries(tx, accountID)
	if err != nil {
		return Report{}, err
	}
	holds, err := checkHolds(tx, accountID)
	if err != nil {
		return Report{}, err
	}
	indexes, err := checkIndexes(tx)
	if err != nil {
		return Report{}, err
	}
	report.Problems = slices.Concat(report.Problems, entries, holds, indexes)
	report.Balanced = len(report.Problems) == 0
	if len(report.Problems) > maxProblems {
		report.Problems = report.Problems[:maxProblems]
	}
	return report, nil
}

// findProblems returns what is wrong with the balance of the ledger account.
func (a auditedAccount) findProblems() []string {
	var problems []string
	if a.Balance != a.Posted {
		problems = append(problems, fmt.Sprintf("%s has a balance of %s USD, but its postings add up to %s USD", a.Name, a.Balance, a.Posted))
	}
	if a.Balance < 0 && !a.Kind.mayBeNegative() {
		problems = append(problems, fmt.Sprintf("%s is negative: %s USD", a.Name, a.Balance))
	}
	if a.Status == "terminated" && a.Balance != 0 {
		problems = append(problems, fmt.Sprintf("%s is terminated, but has a balance of %s USD", a.Name, a.Balance))
	}
	return problems
}

// checkEntries returns a problem for each entry that does not add up to zero.
func checkEntries(tx *store.Tx, accountID int64) ([]string, error) {
	type entry struct {
		ID   int64      `db:"id"`
		Kind string     `db:"kind"`
		Sum  usd.Amount `db:"sum"`
	}
	entries, err := store.List[entry](tx, `
		SELECT e.id, e.kind, SUM(p.amount) AS sum
		FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
		WHERE e.account_id = ? GROUP BY e.id HAVING SUM(p.amount) <> 0`, accountID)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, e := range entries {
		problems = append(problems, fmt.Sprintf("entry %d (%s) adds up to %s USD instead of 0.00 USD", e.ID, e.Kind, e.Sum))
	}
	return problems, nil
}

// OpenHolds is an SQL query for the sum of the authorizations t that are not settled. Callers may append AND
// conditions.
const OpenHolds = `
	SELECT COALESCE(SUM(t.amount), 0) FROM transactions t
	WHERE t.type = 'authorization' AND NOT EXISTS (SELECT 1 FROM transactions s WHERE s.parent_id = t.id)`

// checkHolds returns a problem if the holds are not the sum of the open authorizations.
func checkHolds(tx *store.Tx, accountID int64) ([]string, error) {
	posted, err := Balance(tx, accountID, Holds)
	if err != nil {
		return nil, err
	}
	open, err := store.Value[usd.Amount](tx, OpenHolds+` AND t.account_id = ?`, accountID)
	if err != nil {
		return nil, err
	}
	if posted == open {
		return nil, nil
	}
	return []string{fmt.Sprintf("holds are %s USD, but open authorizations add up to %s USD", posted, open)}, nil
}

// checkIndexes returns the problems that SQLite finds in the tables cards and ledger_accounts and in their indexes, for
// example because the file was damaged on disk. For an undamaged table, SQLite returns a row with the text ok.
func checkIndexes(tx *store.Tx) ([]string, error) {
	return store.Values[string](tx, `
		SELECT 'the file is damaged: ' || integrity_check
		FROM (SELECT 'cards' AS name UNION ALL SELECT 'ledger_accounts') t, pragma_integrity_check(t.name)
		WHERE integrity_check <> 'ok'`)
}
