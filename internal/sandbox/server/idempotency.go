package server

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	idempotencyHeader = "X-Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	idempotencyAge    = 24 * time.Hour
	// maxIdempotencyKey is in bytes.
	maxIdempotencyKey = 255
)

// idempotent runs a changing call once for each key, method and path. The
// response is stored in the call's own transaction, so it is there exactly when
// the effect is. A second call with the same key waits its turn to write, and
// then finds it.
func (c *Call) idempotent(handle func(*Call) (wire.Response, error)) (wire.Response, error) {
	key := c.request.Header.Get(idempotencyHeader)
	if key == "" {
		return handle(c)
	}
	if len(key) > maxIdempotencyKey {
		return wire.Response{}, wire.Invalid("%s has more than %d characters", idempotencyHeader, maxIdempotencyKey)
	}
	if requestlog.Clean(key) != key { // it is kept as it is
		return wire.Response{}, wire.Invalid("%s must be a text that holds neither an API key nor a webhook's secret", idempotencyHeader)
	}
	if c.body.Err != nil {
		return wire.Response{}, c.body.Err
	}
	now := c.Tx.Now()
	if err := c.Tx.Exec(`DELETE FROM idempotent_responses WHERE created_at <= ?`, now.Add(-idempotencyAge).UnixMilli()); err != nil {
		return wire.Response{}, err
	}
	hash := sha256.Sum256(c.body.Raw)
	stored, found, err := c.storedResponse(key, hash[:])
	if err != nil || found {
		return stored, err
	}
	res, err := handle(c)
	if err != nil {
		return wire.Response{}, err
	}
	return res, c.Tx.Exec(`
		INSERT INTO idempotent_responses (account_id, key, method, path, body_hash, status, response, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path, hash[:], res.Status, string(res.Body), now.UnixMilli())
}

func (c *Call) storedResponse(key string, hash []byte) (res wire.Response, found bool, err error) {
	var storedHash []byte
	found, err = c.Tx.Get([]any{&storedHash, &res.Status, &res.Body}, `
		SELECT body_hash, status, response FROM idempotent_responses
		WHERE account_id = ? AND key = ? AND method = ? AND path = ?`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path)
	if err != nil || !found {
		return wire.Response{}, false, err
	}
	if !bytes.Equal(storedHash, hash) {
		return wire.Response{}, true, wire.Refuse(wire.CodeIdempotencyKeyReused,
			"this %s was used for the same call with another body; take a new one", idempotencyHeader)
	}
	res.Header = http.Header{replayedHeader: {"true"}}
	return res, true, nil
}

type idempotencyScope struct {
	accountID         int64
	key, method, path string
}

// claim marks a call with an idempotency key as in flight, and refuses it while
// another one is, where the quirks say so. It knows the calls of this process.
func (s *Server) claim(x *exchange) (release func(), err error) {
	scope := idempotencyScope{x.account.ID, x.request.Header.Get(idempotencyHeader), x.request.Method, x.request.URL.Path}
	if !x.isAPI() || x.quirks.Idempotency != behavior.Conflict || scope.key == "" || !x.route.writes() {
		return func() {}, nil
	}
	if _, busy := s.inFlight.LoadOrStore(scope, true); busy {
		return nil, wire.NewError(http.StatusConflict, wire.CodeIdempotencyKeyInUse,
			"the first call with this "+idempotencyHeader+" has no response yet")
	}
	return func() { s.inFlight.Delete(scope) }, nil
}
