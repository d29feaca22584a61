// Package webhook registers endpoints, writes events to an outbox and delivers them.
package webhook

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	maxURL    = 2048 // characters
	maxSecret = 256  // characters
	// maxEndpoints is the maximum number of endpoints of an account. It limits the cost of an event, which writes a
	// delivery for each endpoint that subscribes to it.
	maxEndpoints = 2000
	// maxRecent is the maximum number of deliveries that the health of an endpoint covers.
	maxRecent = 100
)

// Routes returns the route of API §4.15 and the control calls for endpoints and deliveries. If allowHTTP is
// true, endpoints on localhost or a loopback address may use http.
func Routes(allowHTTP bool) []server.Route {
	const deliveries = server.Control + "/deliveries"
	registerEndpoint := func(c *server.Call) (wire.Response, error) { return register(c, allowHTTP) }
	return []server.Route{
		{Method: http.MethodPost, Path: server.API + "/webhooks", Handle: registerEndpoint},
		{Method: http.MethodDelete, Path: server.Control + "/webhooks/{webhook_id}", Handle: server.NoFields(remove)},
		{Method: http.MethodGet, Path: deliveries, Handle: listDeliveries},
		{Method: http.MethodPost, Path: deliveries + "/{delivery_id}/redeliver", Handle: server.NoFields(redeliver)},
		{Method: http.MethodPost, Path: deliveries + "/redeliver-failed", Handle: server.NoFields(redeliverFailed)},
	}
}

// newEndpoint is the object of API §2.7.
type newEndpoint struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	Secret    string   `json:"secret"`
	CreatedAt string   `json:"created_at"`
}

// register stores an endpoint and responds with it, including its secret.
func register(c *server.Call, allowHTTP bool) (wire.Response, error) {
	e, err := readEndpoint(c.Fields(), allowHTTP)
	if err != nil {
		return wire.Response{}, err
	}
	endpoints, err := store.Value[int](c.Tx, `SELECT COUNT(*) FROM webhooks WHERE account_id = ?`, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	if endpoints >= maxEndpoints {
		return wire.Response{}, wire.Invalid("the account already has %d endpoints, which is the maximum", endpoints)
	}
	now := c.Tx.Now()
	e.ID = c.Tx.NewID("wh_")
	e.CreatedAt = wire.Timestamp(now)
	err = c.Tx.Exec(`
		INSERT INTO webhooks (public_id, account_id, url, events, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		e.ID, c.Account.ID, e.URL, string(wire.Encode(e.Events)), e.Secret, now.UnixMilli())
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(e), nil
}

// readEndpoint reads the fields of an endpoint. It generates a secret if there is none. If several checks refuse a field,
// it returns the first error.
func readEndpoint(f *wire.Fields, allowHTTP bool) (newEndpoint, error) {
	e := newEndpoint{URL: f.Text("url")}
	checkURL(f, e.URL, allowHTTP)
	events, hasEvents := f.Texts("events")
	if !hasEvents {
		f.Refuse(wire.Invalid("events is required"))
	}
	e.Events = events
	checkEvents(f, e.Events)
	secret, hasSecret := f.OptionalText("secret", maxSecret)
	if hasSecret && secret == "" {
		f.Refuse(wire.Invalid("secret must not be empty; leave it out to have one generated"))
	}
	if !hasSecret {
		secret = vault.Token("whsec_")
	}
	e.Secret = secret
	return e, f.Done()
}

// checkURL refuses the URL of an endpoint if it is invalid.
func checkURL(f *wire.Fields, text string, allowHTTP bool) {
	if utf8.RuneCountInString(text) > maxURL {
		f.Refuse(wire.Invalid("url has more than %d characters", maxURL))
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		f.Refuse(wire.Invalid("url must be an https URL with a host"))
		return
	}
	validHTTPS := u.Scheme == "https" && u.Hostname() != ""
	validHTTP := allowHTTP && u.Scheme == "http" && isLoopback(u.Hostname())
	if !validHTTPS && !validHTTP {
		f.Refuse(wire.Invalid("url must be an https URL with a host"))
		return
	}
	if u.User != nil {
		f.Refuse(wire.Invalid("url must not contain a user name or password"))
	}
}

// isLoopback reports whether a host is localhost or a loopback address.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// checkEvents refuses the events of an endpoint if they are invalid.
func checkEvents(f *wire.Fields, events []string) {
	if len(events) == 0 {
		f.Refuse(wire.Invalid("events must name at least one event"))
	}
	known := eventTypes()
	for _, name := range events {
		if name == allEvents && len(events) > 1 {
			f.Refuse(wire.Invalid(`events: "*" must be the only event`))
		}
		if name != allEvents && !slices.Contains(known, name) {
			f.Refuse(wire.Invalid(`events: %.64q is not an event; the events are "*" and %s`, name, strings.Join(known, ", ")))
		}
	}
}

// Endpoint is a registered endpoint without its secret.
type Endpoint struct {
	ID        string    `db:"public_id"`
	URL       address   `db:"url"`
	Events    []string  `db:"events"`
	CreatedAt wire.Time `db:"created_at"`

	// The following fields describe the newest deliveries to the endpoint, up to maxRecent of them.
	Recent    int64 // the number of these deliveries
	Delivered int64 // how many of them were delivered
	// NextAttempt is the number of the next attempt of a delivery that is being retried, for example 2 for the first
	// retry. It is the highest such number, or 0 if no delivery is being retried.
	NextAttempt int64
	LastError   string // why the newest attempt failed; empty if it succeeded, or if there was none
}

// readHealth sets the fields that describe the newest deliveries.
func (e *Endpoint) readHealth(tx *store.Tx) error {
	_, err := tx.Get([]any{&e.Recent, &e.Delivered, &e.NextAttempt, &e.LastError}, `
		WITH recent AS (
			SELECT d.id, d.state, d.failures
			FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id
			WHERE w.public_id = ?
			ORDER BY d.id DESC
			LIMIT ?),
		last_try AS (
			SELECT error
			FROM delivery_tries
			WHERE delivery_id IN (SELECT id FROM recent)
			ORDER BY id DESC
			LIMIT 1)
		SELECT COUNT(*),
		       COUNT(*) FILTER (WHERE state = 'delivered'),
		       COALESCE(MAX(failures + 1) FILTER (WHERE state = 'pending' AND failures > 0), 0),
		       COALESCE((SELECT error FROM last_try), '')
		FROM recent`, e.ID, maxRecent)
	return err
}

// Endpoints returns a page of an account's endpoints, newest first, and reports whether there are more.
func Endpoints(tx *store.Tx, accountID int64, page wire.Page) (endpoints []*Endpoint, more bool, err error) {
	endpoints, more, err = store.Page[Endpoint](tx, page,
		`SELECT public_id, url, events, created_at FROM webhooks WHERE account_id = ? ORDER BY id DESC`, accountID)
	if err != nil {
		return nil, false, err
	}
	for _, e := range endpoints {
		err = e.readHealth(tx)
		if err != nil {
			return nil, false, err
		}
	}
	return endpoints, more, nil
}

// remove deletes an endpoint. The foreign keys of the schema delete its deliveries.
func remove(c *server.Call) (wire.Response, error) {
	id := c.PathValue("webhook_id")
	// RETURNING shows whether there was such an endpoint.
	found, err := c.Tx.Get([]any{&id}, `DELETE FROM webhooks WHERE public_id = ? AND account_id = ? RETURNING public_id`,
		id, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	if !found {
		return wire.Response{}, wire.NotFound("webhook", id)
	}
	return wire.OK(map[string]any{"id": id}), nil
}

// CountRetrying returns the number of an account's endpoints with a delivery that is being retried. Only pending deliveries
// have due_at, which has an index.
func CountRetrying(tx *store.Tx, accountID int64) (int64, error) {
	return store.Value[int64](tx, `
		SELECT COUNT(*) FROM webhooks w WHERE w.account_id = ? AND EXISTS (
			SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL AND d.failures > 0)`, accountID)
}

// NewestFailures returns the newest failed or retrying delivery of each of an account's endpoints, oldest first. If there
// are more than limit of these deliveries, it leaves out the oldest.
func NewestFailures(tx *store.Tx, accountID, limit int64) ([]*Delivery, error) {
	return readDeliveries(tx, `d.id IN (
		SELECT MAX(f.id)
		FROM deliveries f
		WHERE f.webhook_id IN (SELECT id FROM webhooks WHERE account_id = ?)
		  AND (f.state = 'failed' OR (f.state = 'pending' AND f.failures > 0))
		GROUP BY f.webhook_id
		ORDER BY MAX(f.id) DESC
		LIMIT ?)`, accountID, limit)
}
