package webhook

import (
	"errors"
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

func listDeliveries(c *server.Call) (wire.Response, error) {
	return server.LargeList(c, func(page wire.Page) ([]*Delivery, int64, error) {
		data, err := readDeliveries(c.Tx, onPage, c.Account.ID, page.Size, page.Offset())
		total, failed := store.Value[int64](c.Tx, `
			SELECT COUNT(*) FROM deliveries d JOIN events e ON e.id = d.event_id WHERE e.account_id = ?`, c.Account.ID)
		return data, total, errors.Join(err, failed)
	})
}

// redeliver makes a delivery due at once, also one that has arrived or is in flight.
func redeliver(c *server.Call) (wire.Response, error) {
	id := c.PathValue("delivery_id")
	if _, err := makeDue(c, `public_id = ?`, id); err != nil {
		return wire.Response{}, err
	}
	delivery, err := deliveryByID(c.Tx, c.Account.ID, id)
	return wire.OK(delivery), err
}

// redeliverFailed makes all deliveries due at once that failed and did not arrive since.
func redeliverFailed(c *server.Call) (wire.Response, error) {
	ids, err := makeDue(c, `(state = 'failed' OR state = 'pending' AND failures > 0)`)
	return wire.List(ids), err
}

// makeDue begins another round of an account's deliveries, and returns their ids.
func makeDue(c *server.Call, which string, args ...any) ([]string, error) {
	c.Tx.Signal()
	return store.Values[string](c.Tx, `
		UPDATE deliveries SET round = round + 1, failures = 0, state = 'pending', due_at = ?
		WHERE webhook_id IN (SELECT id FROM webhooks WHERE account_id = ?) AND `+which+`
		RETURNING public_id`, append([]any{c.Tx.Now().UnixMilli(), c.Account.ID}, args...)...)
}

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery.
const (
	Pending   DeliveryState = "pending"
	Retrying  DeliveryState = "retrying" // it failed, and will be tried again
	Delivered DeliveryState = "delivered"
	Failed    DeliveryState = "failed" // the schedule is at its end
)

// Delivery is an event on its way to an endpoint. The payload is not part of it: it
// may hold a one-time code.
type Delivery struct {
	ID        string        `json:"id" db:"public_id"`
	EventID   string        `json:"event_id" db:"event_id"`
	Type      string        `json:"type" db:"type"`
	WebhookID string        `json:"webhook_id" db:"webhook_id"`
	URL       address       `json:"url" db:"url"`
	State     DeliveryState `json:"state" db:"state"`
	CreatedAt wire.Time     `json:"created_at" db:"created_at"`
	NextTryAt *wire.Time    `json:"next_try_at" db:"due_at"` // null: there will be none
	Tries     []Try         `json:"tries" db:"tries"`
	Subject   string        `json:"-" db:"subject"` // the id of what the event is about
}

// Try is an attempt to deliver.
type Try struct {
	Time       wire.Time `json:"time"`
	Status     *int      `json:"status"` // null: there was no response
	Error      *string   `json:"error"`  // null: it was delivered
	DurationMS int64     `json:"duration_ms"`
}

// Last is the newest try, nil when there was none yet.
func (v *Delivery) Last() *Try {
	if len(v.Tries) == 0 {
		return nil
	}
	return &v.Tries[len(v.Tries)-1]
}

const onPage = `d.id IN (SELECT d.id FROM deliveries d JOIN events e ON e.id = d.event_id
	WHERE e.account_id = ? ORDER BY d.id LIMIT ? OFFSET ?)`

const shownState = `CASE WHEN d.state = 'pending' AND d.failures > 0 THEN 'retrying' ELSE d.state END`

func deliveryByID(tx *store.Tx, accountID int64, id string) (*Delivery, error) {
	found, err := readDeliveries(tx, `e.account_id = ? AND d.public_id = ?`, accountID, id)
	return wire.Only(found, err, "delivery", id)
}

func readDeliveries(tx *store.Tx, which string, args ...any) ([]*Delivery, error) {
	return store.List[Delivery](tx, `
		SELECT d.public_id, e.public_id AS event_id, e.type, w.public_id AS webhook_id, w.url, `+shownState+` AS state, e.created_at, d.due_at,
		       (SELECT json_group_array(json_object('time', strftime('%Y-%m-%dT%H:%M:%fZ', t.time / 1000.0, 'unixepoch'), 'status', t.status,
		         'error', t.error, 'duration_ms', t.duration_ms) ORDER BY t.id) FROM delivery_tries t WHERE t.delivery_id = d.id) AS tries, e.subject
		FROM deliveries d JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id
		WHERE `+which+` ORDER BY d.id`, args...)
}

// Filter picks deliveries of an account; what is empty picks all.
type Filter struct {
	Endpoint string // its id
	State    DeliveryState
	Subjects []string // the ids of what the events are about
}

// row is the row of a delivery.
type row struct {
	ID int64 `db:"id"`
}

// Newest returns a page of the deliveries that a filter picks, newest first.
func Newest(tx *store.Tx, accountID int64, f Filter, page wire.Page) (deliveries []*Delivery, more bool, err error) {
	// In the order of the rows, which the limit ends.
	from, ofSubjects := `deliveries d CROSS JOIN events e ON e.id = d.event_id `, len(f.Subjects) > 0
	if ofSubjects {
		from = `events e CROSS JOIN deliveries d ON d.event_id = e.id `
	}
	where := store.NewWhere(`e.account_id = ?`, accountID).
		And(ofSubjects, `e.subject IN (SELECT value FROM json_each(?))`, string(wire.Encode(f.Subjects))).
		And(f.Endpoint != "", `d.webhook_id = (SELECT id FROM webhooks WHERE public_id = ?)`, f.Endpoint).
		And(f.State != "", shownState+` = ?`, f.State)
	ids, more, err := store.Page[row](tx, page, `SELECT d.id FROM `+from+where.SQL+` ORDER BY d.id DESC`, where.Args...)
	if err != nil {
		return nil, false, err
	}
	deliveries, err = readDeliveries(tx, `d.id IN (SELECT value->>'ID' FROM json_each(?))`, string(wire.Encode(ids)))
	slices.Reverse(deliveries)
	return deliveries, more, err
}

// Sent is a delivery with what is sent.
type Sent struct {
	*Delivery

	Payload   []byte
	Response  string // how the last response began
	Signature string // of the payload, as the header has it
}

// SentByID returns a delivery of an account with what is sent.
func SentByID(tx *store.Tx, accountID int64, id string) (Sent, error) {
	delivery, err := deliveryByID(tx, accountID, id)
	if err != nil {
		return Sent{}, err
	}
	s := Sent{Delivery: delivery}
	var secret, response []byte
	_, err = tx.Get([]any{&s.Payload, &secret, &response}, `
		SELECT e.payload, w.secret,
		       (SELECT response FROM delivery_tries WHERE delivery_id = d.id AND length(response) > 0 ORDER BY id DESC LIMIT 1)
		FROM deliveries d JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id WHERE d.public_id = ?`, s.ID)
	s.Response = strings.ToValidUTF8(string(response), "�")
	s.Signature = sign(secret, s.Payload)
	return s, err
}

// address is that of an endpoint, without what may be a token.
type address string

// Scan shortens the whole one.
func (a *address) Scan(column any) error {
	*a = shownURL(fmt.Sprint(column))
	return nil
}

// plainSegment matches a segment of a path that is words and small numbers. Anything
// else may be a token.
var plainSegment = regexp.MustCompile(`^(?:[a-z]{1,15}|v?\d{1,4})(?:[-_.](?:[a-z]{1,15}|v?\d{1,4})){0,3}$`)

// shownURL leaves out of an address what may be a token.
func shownURL(whole string) address {
	u, err := url.Parse(whole)
	if err != nil {
		return ""
	}
	parts := []string{u.Scheme + "://" + requestlog.Clean(u.Host)}
	for segment := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' }) {
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
