package delivery

import (
	"database/sql"
	"net/url"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// state is where a delivery stands.
type state string

const (
	pending   state = "pending"
	delivered state = "delivered"
	failed    state = "failed" // the schedule is at its end
)

// view is a delivery as it is shown. The payload is not part of it: it may
// hold a one-time code.
type view struct {
	ID        string  `json:"id"`
	EventID   string  `json:"event_id"`
	Type      string  `json:"type"`
	WebhookID string  `json:"webhook_id"`
	URL       string  `json:"url"` // without its query, where tokens are
	State     state   `json:"state"`
	CreatedAt string  `json:"created_at"`
	NextTryAt *string `json:"next_try_at"` // null: there will be none
	Tries     []try   `json:"tries"`

	row int64
}

type try struct {
	Time       string  `json:"time"`
	Status     *int    `json:"status"` // null: there was no answer
	Error      *string `json:"error"`  // null: it was delivered
	DurationMS int64   `json:"duration_ms"`

	row int64 // of the delivery
}

// wait makes the delivery one that is tried at a time.
func (v *view) wait(until time.Time) {
	text := wire.Timestamp(until)
	v.State, v.NextTryAt = pending, &text
}

// Which deliveries to read.
const (
	ofAccount = `e.account_id = ?`
	ofID      = `e.account_id = ? AND d.public_id = ?`
)

// read returns deliveries with their tries, the oldest first.
func read(tx *store.Tx, which string, args ...any) ([]*view, error) {
	views, err := store.Select(tx, scan, `
		SELECT d.id, d.public_id, e.public_id, e.type, w.public_id, w.url, e.created_at, d.due_at
		FROM deliveries d JOIN events e ON e.id = d.event_id JOIN webhooks w ON w.id = d.webhook_id
		WHERE `+which+` ORDER BY d.id`, args...)
	if err != nil {
		return nil, err
	}
	byRow := make(map[int64]*view, len(views))
	for _, v := range views {
		byRow[v.row] = v
	}
	tries, err := store.Select(tx, scanTry, `
		SELECT t.delivery_id, t.time, t.status, t.error, t.duration_ms
		FROM deliveries d JOIN events e ON e.id = d.event_id JOIN delivery_tries t ON t.delivery_id = d.id
		WHERE `+which+` ORDER BY t.id`, args...)
	if err != nil {
		return nil, err
	}
	for _, t := range tries {
		byRow[t.row].add(t)
	}
	return views, nil
}

// add takes the next try, which decides unless there will be another.
func (v *view) add(t try) {
	v.Tries = append(v.Tries, t)
	switch {
	case v.NextTryAt != nil:
	case t.Error == nil:
		v.State = delivered
	default:
		v.State = failed
	}
}

func scan(row store.Row) (*view, error) {
	v := &view{Tries: []try{}}
	var (
		address string
		created int64
		due     sql.NullInt64
	)
	err := row.Scan(&v.row, &v.ID, &v.EventID, &v.Type, &v.WebhookID, &address, &created, &due)
	v.URL, v.CreatedAt = withoutQuery(address), wire.Timestamp(time.UnixMilli(created))
	if due.Valid {
		v.wait(time.UnixMilli(due.Int64))
	}
	return v, err
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.Fragment = "", ""
	return requestlog.Clean(u.String())
}

func scanTry(row store.Row) (try, error) {
	var (
		t       try
		at      int64
		status  sql.NullInt64
		failure sql.NullString
	)
	err := row.Scan(&t.row, &at, &status, &failure, &t.DurationMS)
	t.Time = wire.Timestamp(time.UnixMilli(at))
	if status.Valid {
		code := int(status.Int64)
		t.Status = &code
	}
	if failure.Valid {
		t.Error = &failure.String
	}
	return t, err
}
