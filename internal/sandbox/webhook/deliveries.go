package webhook

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// listDeliveries returns a page of an account's deliveries, oldest first.
func listDeliveries(c *server.Call) (wire.Response, error) {
	return server.RespondWithPage(c, func(page wire.Page) ([]*Delivery, int64, error) {
		data, err := readDeliveries(c.Tx, isOnPage, c.Account.ID, page.Size, page.Offset())
		if err != nil {
			return nil, 0, err
		}
		total, err := store.Value[int64](c.Tx, `
			SELECT COUNT(*) FROM deliveries d JOIN events e ON e.id = d.event_id WHERE e.account_id = ?`, c.Account.ID)
		if err != nil {
			return nil, 0, err
		}
		return data, total, nil
	})
}

// redeliver makes a delivery due at once, whatever its state, and responds with it.
func redeliver(c *server.Call) (wire.Response, error) {
	id := c.PathValue("delivery_id")
	_, err := makeDue(c, `public_id = ?`, id) // if there is no such delivery, deliveryByID returns an error
	if err != nil {
		return wire.Response{}, err
	}
	found, err := deliveryByID(c.Tx, c.Account.ID, id)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(found), nil
}

// redeliverFailed makes the account's failed and retrying deliveries due at once, and responds with their ids.
func redeliverFailed(c *server.Call) (wire.Response, error) {
	ids, err := makeDue(c, `(state = 'failed' OR (state = 'pending' AND failures > 0))`)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.List(ids), nil
}

// makeDue makes the account's deliveries that match a condition due at once, and returns their ids. The retries start
// over with the first delay.
func makeDue(c *server.Call, condition string, args ...any) ([]string, error) {
	c.Tx.Signal() // wakes the worker after the commit
	allArgs := []any{c.Tx.Now().UnixMilli(), c.Account.ID}
	allArgs = append(allArgs, args...)
	return store.Values[string](c.Tx, `
		UPDATE deliveries SET round = round + 1, failures = 0, state = 'pending', due_at = ?
		WHERE webhook_id IN (SELECT id FROM webhooks WHERE account_id = ?) AND `+condition+`
		RETURNING public_id`, allArgs...)
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	Pending   DeliveryState = "pending"  // the first attempt follows, or the first one of a redelivery
	Retrying  DeliveryState = "retrying" // the last attempt failed, and another one follows
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed" // the last attempt failed, and no other one follows
)

// Delivery is the delivery of an event to an endpoint. It does not include the payload, which may
// contain a one-time code.
type Delivery struct {
	ID        string        `json:"id" db:"public_id"`
	EventID   string        `json:"event_id" db:"event_id"`
	Type      string        `json:"type" db:"type"`
	WebhookID string        `json:"webhook_id" db:"webhook_id"`
	URL       address       `json:"url" db:"url"`
	State     DeliveryState `json:"state" db:"state"`
	CreatedAt wire.Time     `json:"created_at" db:"created_at"` // of the event
	NextTryAt *wire.Time    `json:"next_try_at" db:"due_at"`    // nil if no attempt follows
	Tries     []Try         `json:"tries" db:"tries"`           // oldest first
	Subject   string        `json:"-" db:"subject"`             // the id of the object of the event
}

// Try is an attempt to deliver.
type Try struct {
	Time       wire.Time `json:"time"`
	Status     *int      `json:"status"` // nil if there was no response
	Error      *string   `json:"error"`  // nil if the event was delivered
	DurationMS int64     `json:"duration_ms"`
}

// LastTry returns the newest try, or nil if there is none.
func (d *Delivery) LastTry() *Try {
	if len(d.Tries) == 0 {
		return nil
	}
	return &d.Tries[len(d.Tries)-1]
}

// isOnPage is the condition for a page of an account's deliveries. Its arguments are the account's id, the size of the page
// and its offset.
const isOnPage = `d.id IN (
	SELECT d.id
	FROM deliveries d JOIN events e ON e.id = d.event_id
	WHERE e.account_id = ?
	ORDER BY d.id
	LIMIT ? OFFSET ?)`

// shownState is the SQL expression for the DeliveryState of a delivery d. Retrying is not stored.
const shownState = `CASE WHEN d.state = 'pending' AND d.failures > 0 THEN 'retrying' ELSE d.state END`

// deliveryByID returns a delivery of an account. If there is none with that id, it returns a 404 error.
func deliveryByID(tx *store.Tx, accountID int64, id string) (*Delivery, error) {
	found, err := readDeliveries(tx, `e.account_id = ? AND d.public_id = ?`, accountID, id)
	return wire.OneOrNotFound(found, err, "delivery", id)
}

// triesAsJSON is the SQL expression for the tries of a delivery d, oldest first. The division by 1000.0 turns milliseconds
// into seconds and keeps the fraction.
const triesAsJSON = `(
	SELECT json_group_array(json_object(
		'time', strftime('%Y-%m-%dT%H:%M:%fZ', t.time / 1000.0, 'unixepoch'),
		'status', t.status,
		'error', t.error,
		'duration_ms', t.duration_ms) ORDER BY t.id)
	FROM delivery_tries t
	WHERE t.delivery_id = d.id)`

// readDeliveries returns the deliveries d that match a condition, oldest first.
func readDeliveries(tx *store.Tx, condition string, args ...any) ([]*Delivery, error) {
	return store.List[Delivery](tx, `
		SELECT d.public_id, d.due_at, `+shownState+` AS state, `+triesAsJSON+` AS tries,
		       e.public_id AS event_id, e.type, e.subject, e.created_at,
		       w.public_id AS webhook_id, w.url
		FROM deliveries d
		JOIN events e ON e.id = d.event_id
		JOIN webhooks w ON w.id = d.webhook_id
		WHERE `+condition+`
		ORDER BY d.id`, args...)
}

// Filter selects deliveries of an account. A field that is not set excludes no delivery.
type Filter struct {
	Endpoint string // the id of the endpoint
	State    DeliveryState
	Subjects []string // the ids of the objects of the events
}

// NewestDeliveries returns a page of the deliveries that match a filter, newest first, and reports whether there are
// more.
func NewestDeliveries(tx *store.Tx, accountID int64, f Filter, page wire.Page) (deliveries []*Delivery, more bool, err error) {
	// CROSS JOIN makes SQLite read the first table first. Deliveries are in the order of the page, so that SQLite stops at
	// the end of the page.
	from := `deliveries d CROSS JOIN events e ON e.id = d.event_id `
	bySubject := len(f.Subjects) > 0
	if bySubject { // few events have one of the subjects, so reading the events first is faster
		from = `events e CROSS JOIN deliveries d ON d.event_id = e.id `
	}
	where := store.NewWhere(`e.account_id = ?`, accountID).
		AndIf(bySubject, `e.subject IN (SELECT value FROM json_each(?))`, string(wire.Encode(f.Subjects))).
		AndIf(f.Endpoint != "", `d.webhook_id = (SELECT id FROM webhooks WHERE public_id = ?)`, f.Endpoint).
		AndIf(f.State != "", shownState+` = ?`, f.State)
	type row struct {
		ID int64 `db:"id"`
	}
	rows, more, err := store.Page[row](tx, page, `SELECT d.id FROM `+from+where.SQL+` ORDER BY d.id DESC`, where.Args...)
	if err != nil {
		return nil, false, err
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	deliveries, err = readDeliveries(tx, `d.id IN (SELECT value FROM json_each(?))`, string(wire.Encode(ids)))
	if err != nil {
		return nil, false, err
	}
	slices.Reverse(deliveries) // readDeliveries returns the oldest first
	return deliveries, more, nil
}

// FullDelivery is a delivery with its payload and response.
type FullDelivery struct {
	*Delivery

	Payload   []byte
	Response  string // the first bytes of the last response that had a body; empty if there is none
	Signature string // the value of the header that signs the payload
}

// FullDeliveryByID returns a delivery of an account with its payload and response. If there is none with that id, it
// returns a 404 error.
func FullDeliveryByID(tx *store.Tx, accountID int64, id string) (FullDelivery, error) {
	found, err := deliveryByID(tx, accountID, id)
	if err != nil {
		return FullDelivery{}, err
	}
	full := FullDelivery{Delivery: found}
	var secret, response []byte
	_, err = tx.Get([]any{&full.Payload, &secret, &response}, `
		SELECT e.payload, w.secret,
		       (SELECT response FROM delivery_tries WHERE delivery_id = d.id AND length(response) > 0 ORDER BY id DESC LIMIT 1)
		FROM deliveries d
		JOIN events e ON e.id = d.event_id
		JOIN webhooks w ON w.id = d.webhook_id
		WHERE d.public_id = ?`, full.ID)
	if err != nil {
		return FullDelivery{}, err
	}
	full.Response = strings.ToValidUTF8(string(response), "�")
	full.Signature = sign(secret, full.Payload)
	return full, nil
}

// address is the URL of an endpoint without the parts that may be tokens.
type address string

// Scan implements sql.Scanner. It shortens the stored URL as shownURL does.
func (a *address) Scan(column any) error {
	text, ok := column.(string)
	if !ok {
		return fmt.Errorf("cannot scan a %T as a URL", column)
	}
	*a = shownURL(text)
	return nil
}

// plainSegment matches a path segment of up to four short lower-case words, numbers or versions such as v2, joined by "-",
// "_" or ".". Other segments may be tokens.
var plainSegment = regexp.MustCompile(`^(?:[a-z]{1,15}|v?\d{1,4})(?:[-_.](?:[a-z]{1,15}|v?\d{1,4})){0,3}$`)

// shownURL returns the scheme, host and path of a URL, and "?…" if it has a query. An ellipsis replaces path segments that
// may be tokens. Empty segments are left out. shownURL returns "" for an invalid URL.
func shownURL(text string) address {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	origin := u.Scheme + "://" + requestlog.Clean(u.Host)
	parts := []string{origin}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "" {
			continue
		}
		if !plainSegment.MatchString(segment) {
			segment = "…"
		}
		parts = append(parts, segment)
	}
	shown := strings.Join(parts, "/")
	if u.RawQuery != "" {
		shown += "?…"
	}
	return address(shown)
}
