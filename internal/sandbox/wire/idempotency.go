package wire

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"time"
)

const (
	idempotencyHeader = "X-Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	// idempotencyAge is how long an answer is remembered.
	idempotencyAge = 24 * time.Hour
	// maxIdempotencyKey is in bytes.
	maxIdempotencyKey = 255
)

// idempotent runs a changing call once for each key, method and path. The
// answer is stored in the call's own transaction, so it is there exactly when
// the effect is. A second call with the same key waits its turn to write, and
// then finds it.
func (c *Call) idempotent(run func() (answer, error)) (answer, error) {
	key := c.request.Header.Get(idempotencyHeader)
	if key == "" {
		return run()
	}
	if len(key) > maxIdempotencyKey {
		return answer{}, Invalid("%s has more than %d characters", idempotencyHeader, maxIdempotencyKey)
	}
	if c.body.err != nil {
		return answer{}, c.body.err
	}
	hash := sha256.Sum256(c.body.raw)
	stored, found, err := c.stored(key, hash[:])
	if err != nil || found {
		return stored, err
	}
	a, err := run()
	if err != nil {
		return answer{}, err
	}
	return a, c.remember(key, hash[:], a)
}

// stored returns the answer that was given for the key.
func (c *Call) stored(key string, hash []byte) (a answer, found bool, err error) {
	now, err := c.Tx.Now()
	if err != nil {
		return answer{}, false, err
	}
	var (
		storedHash, sealed []byte
		status             int
	)
	found, err = c.Tx.Get([]any{&storedHash, &status, &sealed}, `
		SELECT body_hash, status, answer FROM idempotent_answers
		WHERE account_id = ? AND key = ? AND method = ? AND path = ? AND created_at > ?`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path, now.Add(-idempotencyAge).UnixMilli())
	if err != nil || !found {
		return answer{}, false, err
	}
	if !bytes.Equal(storedHash, hash) {
		return answer{}, true, Refuse(CodeIdempotencyKeyReused,
			"this %s was used for the same call with another body; take a new one", idempotencyHeader)
	}
	body, err := c.Keys.Open(sealed)
	return answer{status: status, body: body, header: http.Header{replayedHeader: {"true"}}}, true, err
}

func (c *Call) remember(key string, hash []byte, a answer) error {
	now, err := c.Tx.Now()
	if err != nil {
		return err
	}
	old := now.Add(-idempotencyAge).UnixMilli()
	if err := c.Tx.Exec(`DELETE FROM idempotent_answers WHERE created_at <= ?`, old); err != nil {
		return err
	}
	return c.Tx.Exec(`
		INSERT INTO idempotent_answers (account_id, key, method, path, body_hash, status, answer, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		c.Account.ID, key, c.request.Method, c.request.URL.Path, hash, a.status, c.Keys.Seal(a.body), now.UnixMilli())
}

// scope is what an idempotency key is unique in.
type scope struct {
	accountID         int64
	key, method, path string
}

// claim marks a call with an idempotency key as in flight, unless another one
// is. It knows the calls of this process.
func (s *Server) claim(x *exchange) (release func(), err error) {
	in := scope{x.account.ID, x.request.Header.Get(idempotencyHeader), x.request.Method, x.request.URL.Path}
	if in.key == "" || !x.route.writes() {
		return func() {}, nil
	}
	if _, busy := s.inFlight.LoadOrStore(in, true); busy {
		return nil, &Error{
			Status: http.StatusConflict, Code: CodeIdempotencyKeyInUse,
			Message: "the first call with this " + idempotencyHeader + " is not answered yet",
		}
	}
	return func() { s.inFlight.Delete(in) }, nil
}
