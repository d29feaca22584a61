package ledger

import (
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Line is a ledger account and what is on it. A card's name is its id.
type Line struct {
	Name    string     `json:"name"`
	Balance usd.Amount `json:"balance"`
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

	Kind   Kind
	Posted usd.Amount
	Status string // of the card
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
		SELECT COALESCE(c.public_id, l.kind), l.balance, l.kind, COALESCE(posted.total, 0), COALESCE(c.status, '')
		FROM ledger_accounts l
		LEFT JOIN posted ON posted.id = l.id
		LEFT JOIN cards c ON c.ledger_account_id = l.id
		WHERE l.account_id = ? ORDER BY l.id`, accountID, accountID)
	if err != nil {
		return Report{}, err
	}
	report := Report{Accounts: make([]Line, 0, len(accounts))}
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
		ID   int64
		Kind string
		Sum  usd.Amount
	}
	entries, err := store.List[entry](tx, `
		SELECT e.id, e.kind, SUM(p.amount) FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
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

// damages are tables that their indexes do not agree with, as after a bit has
// flipped on the disk.
func damages(tx *store.Tx, _ int64) ([]string, error) {
	return store.Values[string](tx, `
		SELECT 'the file is damaged: ' || integrity_check FROM (SELECT 'cards' AS name UNION ALL SELECT 'ledger_accounts') t, pragma_integrity_check(t.name)
		WHERE integrity_check <> 'ok'`)
}
