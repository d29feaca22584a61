// Package activity lists the history of an account or of one of its cards. It merges purchases, movements of money,
// changes of status, challenges and deposits by time.
package activity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Kind is the kind of a record.
type Kind string

// Kinds of records that move money. There are other kinds, such as "challenge".
const (
	Opened           Kind = "opened" // the account was opened, with a balance
	Issued           Kind = "issued"
	Funded           Kind = "funded"
	Withdrawn        Kind = "withdrawn"
	Returned         Kind = "returned" // the balance returned to the wallet when the card was terminated
	Authorization    Kind = "authorization"
	DepositConfirmed Kind = "deposit-confirmed"
)

// Record is an event in the history of an account.
type Record struct {
	At       wire.Time  `db:"at"`
	Rank     int64      `db:"rank"`   // orders records with the same time
	Number   int64      `db:"number"` // the id of the row in its table
	Kind     Kind       `db:"kind"`
	ID       string     `db:"id"`      // the public id, for example of the purchase; empty if the record has none
	CardID   string     `db:"card_id"` // empty if the record has no card
	Label    string     `db:"label"`   // of the card
	Last4    string     `db:"last4"`
	Amount   usd.Amount `db:"amount"`
	Fee      usd.Amount `db:"fee"`      // of issuing a card, or of a purchase with its settlement and refunds
	Merchant string     `db:"merchant"` // of a purchase or a challenge, or the currency of a pending deposit
	MCC      string     `db:"mcc"`
	Reason   string     `db:"reason"` // of a decline, or the status of a challenge
	Run      string     `db:"run"`    // the key of the run that requested it, if the request log has one

	// The following fields describe a purchase with its settlement and refunds. They are empty for other records.
	State      transaction.State  `db:"state"`
	Facts      *transaction.Facts `db:"facts"` // of a decline
	Settled    usd.Amount         `db:"settled"`
	Refunded   usd.Amount         `db:"refunded"`
	Settlement string             `db:"settlement"` // the id of the settlement; empty if there is none
}

// RowID identifies the record in a list.
func (r *Record) RowID() string { return cmp.Or(r.ID, fmt.Sprintf("%s-%d", r.Kind, r.Number)) }

// Remaining returns the amount that an open authorization holds, or that can still be refunded for a settlement.
// Otherwise, it returns 0.
func (r *Record) Remaining() usd.Amount {
	switch r.State {
	case transaction.Authorized:
		return r.Amount
	case transaction.Settled, transaction.Refunded:
		return r.Settled - r.Refunded
	}
	return 0
}

// SettlementDiffers reports whether the record has a settlement whose amount differs from the authorized one.
func (r *Record) SettlementDiffers() bool {
	hasSettlement := r.Settled > 0
	return hasSettlement && r.Settled != r.Amount
}

// CardChange returns the change of the card's balance, without the fees of purchases. An amount that is held reduces
// the balance. Settlements and refunds count in full, even if the wallet paid or received a part of them.
func (r *Record) CardChange() usd.Amount {
	switch r.Kind {
	case Authorization:
		if r.State == transaction.Authorized {
			return -r.Amount
		}
		return r.Refunded - r.Settled
	case Issued, Funded:
		return r.Amount
	case Withdrawn, Returned:
		return -r.Amount
	}
	return 0
}

// WalletChange returns the change of the wallet's balance. It is 0 for a purchase, even if the wallet paid or received
// a part of it.
func (r *Record) WalletChange() usd.Amount {
	switch r.Kind {
	case Issued, Funded:
		return -r.Amount - r.Fee
	case Withdrawn, Returned, Opened, DepositConfirmed:
		return r.Amount
	}
	return 0
}

// ListForAccount returns a page of the records of an account, newest first, and reports whether there are more.
func ListForAccount(tx *store.Tx, accountID int64, page wire.Page) ([]*Record, bool, error) {
	return listUnion(tx, page, accountID,
		purchases+`WHERE t.account_id = ?3 AND t.state IS NOT NULL ORDER BY t.id DESC LIMIT ?4`,
		movements+`WHERE e.account_id = ?3 AND `+ledger.Movements+` ORDER BY e.id DESC LIMIT ?4`,
		statusChanges+`WHERE s.account_id = ?3 ORDER BY s.id DESC LIMIT ?4`,
		challenges+`WHERE h.account_id = ?3 ORDER BY h.id DESC LIMIT ?4`,
		deposits+`WHERE d.account_id = ?3 ORDER BY d.id DESC LIMIT ?4`)
}

// ListForCard is like ListForAccount, for one card.
func ListForCard(tx *store.Tx, cardID int64, page wire.Page) ([]*Record, bool, error) {
	return listUnion(tx, page, cardID,
		purchases+`WHERE t.card_id = ?3 AND t.state IS NOT NULL ORDER BY t.id DESC LIMIT ?4`,
		movements+`WHERE e.card_account_id = (SELECT ledger_account_id FROM cards WHERE id = ?3)
			AND `+ledger.Movements+` ORDER BY e.id DESC LIMIT ?4`,
		statusChanges+`WHERE s.card_id = ?3 ORDER BY s.id DESC LIMIT ?4`,
		challenges+`WHERE h.card_id = ?3 ORDER BY h.id DESC LIMIT ?4`)
}

// ChallengeFilter selects challenges of an account. A field that is not set excludes no challenge.
type ChallengeFilter struct {
	CardText string // a part of the card's label, its last four digits, or its id
	Status   string
}

// ListChallenges returns a page of an account's challenges that match a filter, newest first, and reports whether there
// are more.
func ListChallenges(tx *store.Tx, accountID int64, f ChallengeFilter, page wire.Page) ([]*Record, bool, error) {
	cardFilter := card.Filter{Text: f.CardText}
	where := cardFilter.Where(accountID).AndIf(f.Status != "", threeds.StatusSQL+` = ?`, f.Status)
	args := slices.Concat(challengeArgs(tx), where.Args)
	return store.Page[Record](tx, page, challenges+where.SQL+` ORDER BY h.id DESC`, args...)
}

// ListPurchases returns a page of an account's purchases that match a filter, newest first. The filter must not match
// settlements or refunds.
func ListPurchases(tx *store.Tx, accountID int64, f transaction.Filter, page wire.Page) ([]*Record, error) {
	where := f.Where(accountID)
	query := purchases + `
		WHERE t.id IN (SELECT id FROM transactions ` + where.SQL + ` ORDER BY id DESC LIMIT ? OFFSET ?) ORDER BY t.id DESC`
	args := slices.Concat(where.Args, []any{page.Size, page.Offset()})
	return store.List[Record](tx, query, args...)
}

// These are the beginnings of queries. Each selects the columns of a Record in the same order, because a UNION matches
// columns by their order.
//
// The amount of a movement is that of its posting to the card, without a sign. The opening balance and deposits have no
// card; their amount is that of the posting to the ledger account of the deposits. The time of a challenge is its start:
// the time of expiry minus the lifetime.
const (
	purchases = `
		SELECT t.created_at AS at, 2 AS rank, t.id AS number, t.type AS kind, t.public_id AS id,
		       c.public_id AS card_id, c.label AS label, c.last4 AS last4, t.amount AS amount, t.fees AS fee,
		       t.merchant_name AS merchant, t.merchant_mcc AS mcc, COALESCE(t.decline_reason, '') AS reason, '' AS run,
		       t.state AS state, t.decline_facts AS facts, t.settled AS settled, t.refunded AS refunded, COALESCE(s.public_id, '') AS settlement
		FROM transactions t JOIN cards c ON c.id = t.card_id LEFT JOIN transactions s ON s.parent_id = t.id `
	movements = `
		SELECT e.created_at AS at, 1 AS rank, e.id AS number,
		       CASE e.kind WHEN 'opening balance' THEN 'opened' WHEN 'deposit confirmed' THEN 'deposit-confirmed'
		         WHEN 'card issued' THEN 'issued' WHEN 'card funded' THEN 'funded' WHEN 'card withdrawn' THEN 'withdrawn'
		         WHEN 'card terminated' THEN 'returned' END AS kind, '' AS id,
		       COALESCE(c.public_id, '') AS card_id, COALESCE(c.label, '') AS label, COALESCE(c.last4, '') AS last4,
		       (SELECT ABS(p.amount) FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id
		        WHERE p.entry_id = e.id AND l.kind IN ('card', 'deposits')) AS amount,
		       COALESCE((SELECT p.amount FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id
		        WHERE p.entry_id = e.id AND l.kind = 'fees'), 0) AS fee,
		       '' AS merchant, '' AS mcc, '' AS reason,
		       COALESCE((SELECT ` + requestlog.RunKey + ` FROM request_log r JOIN runs u ON u.id = r.run_id WHERE r.entry_id = e.id), '') AS run,
		       '' AS state, NULL AS facts, 0 AS settled, 0 AS refunded, '' AS settlement
		FROM ledger_entries e LEFT JOIN cards c ON c.ledger_account_id = e.card_account_id `
	statusChanges = `
		SELECT s.created_at AS at, 3 AS rank, s.id AS number,
		       CASE WHEN s.status = 'active' THEN 'unfrozen' WHEN s.automatic THEN 'auto-frozen' ELSE s.status END AS kind, '' AS id,
		       c.public_id AS card_id, c.label AS label, c.last4 AS last4, 0 AS amount, 0 AS fee,
		       '' AS merchant, '' AS mcc, '' AS reason,
		       COALESCE((SELECT ` + requestlog.RunKey + ` FROM request_log r JOIN runs u ON u.id = r.run_id WHERE r.status_change = s.id), '') AS run,
		       '' AS state, NULL AS facts, 0 AS settled, 0 AS refunded, '' AS settlement
		FROM status_changes s JOIN cards c ON c.id = s.card_id `
	challenges = `
		SELECT h.expires_at - ?2 AS at, 2 AS rank, h.id AS number, 'challenge' AS kind, h.public_id AS id,
		       c.public_id AS card_id, c.label AS label, c.last4 AS last4, h.amount AS amount, 0 AS fee,
		       h.merchant AS merchant, '' AS mcc, ` + threeds.StatusSQL + ` AS reason, '' AS run,
		       '' AS state, NULL AS facts, 0 AS settled, 0 AS refunded, '' AS settlement
		FROM challenges h JOIN cards c ON c.id = h.card_id `
	deposits = `
		SELECT d.created_at AS at, 0 AS rank, d.id AS number, 'deposit-pending' AS kind, d.public_id AS id,
		       '' AS card_id, '' AS label, '' AS last4, d.amount AS amount, 0 AS fee,
		       UPPER(d.currency) AS merchant, '' AS mcc, '' AS reason, '' AS run,
		       '' AS state, NULL AS facts, 0 AS settled, 0 AS refunded, '' AS settlement
		FROM deposits d `
)

// listUnion returns a page of the records that any of the queries selects, newest first, and reports whether there are
// more. In a query, ?3 is the id of the account or card, and ?4 is the maximum number of rows.
func listUnion(tx *store.Tx, page wire.Page, id int64, queries ...string) ([]*Record, bool, error) {
	union := `SELECT * FROM (` + strings.Join(queries, `) UNION ALL SELECT * FROM (`) + `)
		ORDER BY at DESC, rank DESC, number DESC`
	// All rows up to the end of the page may come from one query. One more row shows whether there is a next page.
	limit := page.Offset() + page.Size + 1
	args := append(challengeArgs(tx), id, limit)
	return store.Page[Record](tx, page, union, args...)
}

// challengeArgs returns the arguments ?1 and ?2 of the query challenges, in milliseconds: the current time and the
// lifetime of a challenge. In SQLite, a ? without a number gets the highest number before it plus one.
func challengeArgs(tx *store.Tx) []any {
	return []any{tx.Now().UnixMilli(), threeds.Lifetime.Milliseconds()}
}
