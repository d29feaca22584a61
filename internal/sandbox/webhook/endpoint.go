// Package webhook tells endpoints what happened: it registers them, writes events
// into an outbox, delivers them, and shows what became of each delivery.
package webhook

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	maxURL    = 2048 // characters
	maxSecret = 256  // characters
	// maxEndpoints is how many an account may have: each change writes a delivery
	// for each of them.
	maxEndpoints = 2000
)

// Routes is API §4.15, the deliveries, and what the service's own dashboard does. Plain
// has endpoints on this machine's own addresses without TLS, too.
func Routes(plain bool) []server.Route {
	const deliveries = server.Control + "/deliveries"
	return []server.Route{
		{Method: http.MethodPost, Path: server.API + "/webhooks", Handle: func(c *server.Call) (wire.Response, error) { return register(c, plain) }},
		{Method: http.MethodDelete, Path: server.Control + "/webhooks/{webhook_id}", Handle: server.NoFields(remove)},
		{Method: http.MethodGet, Path: deliveries, Handle: listDeliveries},
		{Method: http.MethodPost, Path: deliveries + "/{delivery_id}/redeliver", Handle: server.NoFields(redeliver)},
		{Method: http.MethodPost, Path: deliveries + "/redeliver-failed", Handle: server.NoFields(redeliverFailed)},
	}
}

// endpoint is the object of API §2.7.
type endpoint struct {
	ID        string   `json:"id"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	Secret    string   `json:"secret"`
	CreatedAt string   `json:"created_at"`
}

func register(c *server.Call, plain bool) (wire.Response, error) {
	e, err := readEndpoint(c.Fields(), plain)
	if err != nil {
		return wire.Response{}, err
	}
	endpoints, err := store.Value[int](c.Tx, `SELECT COUNT(*) FROM webhooks WHERE account_id = ?`, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	if endpoints >= maxEndpoints {
		return wire.Response{}, wire.Invalid("the account has %d endpoints already, the most there may be", endpoints)
	}
	now := c.Tx.Now()
	e.ID, e.CreatedAt = c.Tx.NewID("wh_"), wire.Timestamp(now)
	return wire.Created(e), c.Tx.Exec(`
		INSERT INTO webhooks (public_id, account_id, url, events, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		e.ID, c.Account.ID, e.URL, string(wire.Encode(e.Events)), e.Secret, now.UnixMilli())
}

func readEndpoint(f *wire.Fields, plain bool) (endpoint, error) {
	e := endpoint{URL: f.Text("url")}
	checkURL(f, e.URL, plain)
	var found bool
	if e.Events, found = f.Texts("events"); !found {
		f.Refuse(wire.Invalid("events is required"))
	}
	checkEvents(f, e.Events)
	secret, found := f.OptionalText("secret", maxSecret)
	if found && secret == "" {
		f.Refuse(wire.Invalid("secret must not be empty; leave it out to have one generated"))
	}
	if !found {
		secret = vault.Token("whsec_")
	}
	e.Secret = secret
	return e, f.Done()
}

func checkURL(f *wire.Fields, text string, plain bool) {
	u, err := url.Parse(text)
	switch {
	case err == nil && plain && u.Scheme == "http" && isOwn(u.Hostname()) && u.User == nil && len(text) <= maxURL:
	case len(text) > maxURL:
		f.Refuse(wire.Invalid("url has more than %d characters", maxURL))
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		f.Refuse(wire.Invalid("url must be an https URL with a host"))
	case u.User != nil:
		f.Refuse(wire.Invalid("url must not hold a user name or password"))
	}
}

// isOwn tells whether a host is this machine and nothing else.
func isOwn(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func checkEvents(f *wire.Fields, events []string) {
	if len(events) == 0 {
		f.Refuse(wire.Invalid("events must name at least one event"))
	}
	known := eventTypes()
	for _, name := range events {
		switch {
		case name == allEvents && len(events) > 1:
			f.Refuse(wire.Invalid(`events: "*" stands alone`))
		case name != allEvents && !slices.Contains(known, name):
			f.Refuse(wire.Invalid(`events: %.64q is not an event; there are "*" and %s`, name, strings.Join(known, ", ")))
		}
	}
}

// Endpoint is a registered endpoint as far as it may be shown: its secret never is.
type Endpoint struct {
	ID        string    `db:"public_id"`
	URL       address   `db:"url"`
	Events    []string  `db:"events"`
	CreatedAt wire.Time `db:"created_at"`

	// Of its newest deliveries.
	Recent    int64
	Delivered int64
	Attempt   int64  // that comes next for one that has failed; 0: none has
	LastError string // "": the last attempt arrived
}

func (e *Endpoint) readHealth(tx *store.Tx) error {
	const recent = 100
	_, err := tx.Get([]any{&e.Recent, &e.Delivered, &e.Attempt, &e.LastError}, `
		WITH recent AS (
			SELECT d.id, d.state, d.failures FROM webhooks w JOIN deliveries d ON d.webhook_id = w.id WHERE w.public_id = ? ORDER BY d.id DESC LIMIT ?)
		SELECT COUNT(*), COUNT(*) FILTER (WHERE state = 'delivered'),
		       COALESCE(MAX(CASE WHEN state = 'pending' AND failures > 0 THEN failures + 1 END), 0),
		       COALESCE((SELECT t.error FROM delivery_tries t WHERE t.delivery_id IN (SELECT id FROM recent) ORDER BY t.id DESC LIMIT 1), '')
		FROM recent`, e.ID, recent)
	return err
}

// Endpoints returns a page of an account's endpoints, newest first.
func Endpoints(tx *store.Tx, accountID int64, page wire.Page) (endpoints []*Endpoint, more bool, err error) {
	endpoints, more, err = store.Page[Endpoint](tx, page,
		`SELECT public_id, url, events, created_at FROM webhooks WHERE account_id = ? ORDER BY id DESC`, accountID)
	for _, e := range endpoints {
		if err == nil {
			err = e.readHealth(tx)
		}
	}
	return endpoints, more, err
}

// remove ends an endpoint, and forgets its deliveries.
func remove(c *server.Call) (wire.Response, error) {
	id := c.PathValue("webhook_id")
	found, err := c.Tx.Get([]any{&id}, `DELETE FROM webhooks WHERE public_id = ? AND account_id = ? RETURNING public_id`,
		id, c.Account.ID)
	if err == nil && !found {
		err = wire.NotFound("webhook", id)
	}
	return wire.OK(map[string]any{"id": id}), err
}

// CountFailing returns how many endpoints have a delivery that will be tried again.
func CountFailing(tx *store.Tx, accountID int64) (int64, error) {
	return store.Value[int64](tx, `
		SELECT COUNT(*) FROM webhooks w WHERE w.account_id = ? AND EXISTS (
			SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL AND d.failures > 0)`, accountID)
}

// Failing returns the newest delivery of each of a few endpoints that did not arrive.
func Failing(tx *store.Tx, accountID, most int64) ([]*Delivery, error) {
	return readDeliveries(tx, `d.id IN (
		SELECT (SELECT MAX(d.id) FROM deliveries d WHERE d.webhook_id = w.id AND (d.state = 'failed' OR d.state = 'pending' AND d.failures > 0)) AS newest
		FROM webhooks w WHERE w.account_id = ? AND newest IS NOT NULL ORDER BY newest DESC LIMIT ?)`, accountID, most)
}
