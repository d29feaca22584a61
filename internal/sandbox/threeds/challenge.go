// Package threeds serves the calls about 3D Secure challenges.
package threeds

import (
	"net/http"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The statuses of a challenge. Expired is not stored: a pending challenge expires when its time has passed.
const (
	Pending  = "pending"
	Approved = "approved"
	Failed   = "failed"
	Expired  = "expired"
)

// Lifetime is the time that a cardholder has to complete a challenge.
const Lifetime = 5 * time.Minute

// Challenge is the object of API §2.6.
type Challenge struct {
	ID        string     `json:"id" db:"public_id"`
	CardID    string     `json:"card_id" db:"card_id"`
	Merchant  string     `json:"merchant" db:"merchant"`
	Amount    usd.Amount `json:"amount" db:"amount"`
	OTP       *string    `json:"otp"` // derived from the id, so it has no column; nil if the response hides it
	Status    string     `json:"status" db:"status"`
	ExpiresAt wire.Time  `json:"expires_at" db:"expires_at"`
}

// setOTP sets the one-time code of the challenge.
func (ch *Challenge) setOTP(keys *vault.Keyring) {
	code := keys.OTP(ch.ID)
	ch.OTP = &code
}

// Routes returns the route of API §4.14, and the control calls that create and complete challenges.
func Routes() []server.Route {
	const challenges = server.Control + "/3ds-challenges"
	return []server.Route{
		{Method: http.MethodGet, Path: server.API + "/3ds", Handle: list},
		{Method: http.MethodPost, Path: challenges, Handle: createChallenge},
		{Method: http.MethodPost, Path: challenges + "/{id}/complete", Handle: completeChallenge},
	}
}

// StatusSQL is the SQL expression for the status of a challenge h. Its ?1 is the current time in Unix milliseconds, which
// must be the first argument of the query.
const StatusSQL = `CASE WHEN h.status = 'pending' AND h.expires_at <= ?1 THEN 'expired' ELSE h.status END`

// readChallenges returns the challenges h that match a condition, without codes. Those that expire last come first.
func readChallenges(tx *store.Tx, where store.Where) ([]*Challenge, error) {
	query := `
		SELECT h.public_id, k.public_id AS card_id, h.merchant, h.amount, ` + StatusSQL + ` AS status, h.expires_at
		FROM challenges h JOIN cards k ON k.id = h.card_id ` + where.SQL + `
		ORDER BY h.expires_at DESC, h.id DESC`
	// The time is the ?1 of StatusSQL. In SQLite, a ? without a number gets the highest number before it plus one, so those
	// of the condition start with ?2.
	args := slices.Concat([]any{tx.Now().UnixMilli()}, where.Args)
	return store.List[Challenge](tx, query, args...)
}

// statusCondition returns the SQL condition that a challenge h has a status, and its arguments. Unlike a condition on
// StatusSQL, it lets SQLite use an index.
func statusCondition(status string, now time.Time) (condition string, args []any) {
	switch status {
	case Pending:
		return `h.status = 'pending' AND h.expires_at > ?`, []any{now.UnixMilli()}
	case Expired:
		return `h.status = 'pending' AND h.expires_at <= ?`, []any{now.UnixMilli()}
	default:
		return `h.status = ?`, []any{status}
	}
}

// list returns the challenges with the status in the query. The default status is pending. A quirk makes list ignore
// the status. It then returns all challenges, and hides the codes of those that are not pending.
func list(c *server.Call) (wire.Response, error) {
	query := c.Query()
	statusIgnored := c.Quirks.ChallengeStatus == behavior.Ignored
	if statusIgnored {
		query.Skip("status")
	}
	status := query.Choice("status", Pending, Approved, Failed, Expired)
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	if status == "" {
		status = Pending
	}
	condition, args := statusCondition(status, c.Tx.Now())
	where := store.NewWhere(`h.account_id = ?`, c.Account.ID).AndIf(!statusIgnored, condition, args...)
	data, err := readChallenges(c.Tx, where)
	if err != nil {
		return wire.Response{}, err
	}
	for _, ch := range data {
		hideOTP := statusIgnored && ch.Status != Pending
		if !hideOTP {
			ch.setOTP(c.Keys)
		}
	}
	return wire.List(data), nil
}

// CountPending returns the number of an account's pending challenges.
func CountPending(tx *store.Tx, accountID int64) (int64, error) {
	return store.Value[int64](tx, `SELECT COUNT(*) FROM challenges WHERE account_id = ? AND status = ? AND expires_at > ?`,
		accountID, Pending, tx.Now().UnixMilli())
}

// createChallenge simulates that a merchant requests a challenge. No money moves.
func createChallenge(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	ch := Challenge{
		ID:       c.Tx.NewID("3ds_"),
		CardID:   fields.Text("card_id"),
		Merchant: fields.ShortText("merchant", card.MaxMerchantName),
		Amount:   fields.PositiveAmount("amount"),
		Status:   Pending,
	}
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	target, err := card.ByPublicID(c.Tx, c.Account.ID, ch.CardID)
	if err != nil {
		return wire.Response{}, err
	}
	if target.Status == card.Terminated {
		return wire.Response{}, wire.Refuse(wire.CodeCardTerminated, "card %s is terminated and cannot be used for purchases", ch.CardID)
	}
	expiresAt := c.Tx.Now().Add(Lifetime)
	err = c.Tx.Exec(`
		INSERT INTO challenges (public_id, account_id, card_id, merchant, amount, status, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		ch.ID, c.Account.ID, target.ID, ch.Merchant, ch.Amount, ch.Status, expiresAt.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	ch.setOTP(c.Keys)
	ch.ExpiresAt = wire.Time{Time: expiresAt}
	err = webhook.Emit(c, webhook.ThreeDSChallenge, ch.ID, ch)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(ch), nil
}

// completeChallenge simulates that the cardholder approves a pending challenge, or fails to.
func completeChallenge(c *server.Call) (wire.Response, error) {
	fields := c.Fields()
	outcome := fields.Choice("outcome", Approved, Failed)
	err := fields.Done()
	if err != nil {
		return wire.Response{}, err
	}
	id := c.PathValue("id")
	found, err := readChallenges(c.Tx, store.NewWhere(`h.public_id = ? AND h.account_id = ?`, id, c.Account.ID))
	ch, err := wire.OneOrNotFound(found, err, "3DS challenge", id)
	if err != nil {
		return wire.Response{}, err
	}
	if ch.Status != Pending {
		return wire.Response{}, wire.Invalid("challenge %s is %s; only pending challenges can be completed", ch.ID, ch.Status)
	}
	err = c.Tx.Exec(`UPDATE challenges SET status = ? WHERE public_id = ?`, outcome, ch.ID)
	if err != nil {
		return wire.Response{}, err
	}
	ch.Status = outcome
	ch.setOTP(c.Keys)
	return wire.OK(ch), nil
}
