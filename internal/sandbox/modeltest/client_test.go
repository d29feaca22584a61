package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	api     = "/api/v1"
	control = "/_sandbox"
)

// reply is what came back; err is set when nothing whole did.
type reply struct {
	status   int
	replayed bool
	raw      string
	body     object
	err      error
}

// caller speaks to the service with one key.
type caller struct {
	url    string
	key    string
	client *http.Client
}

func (c caller) send(ctx context.Context, method, path, body, idempotencyKey string) (r reply) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		request.Header.Set("X-Idempotency-Key", idempotencyKey)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return reply{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	r = reply{status: response.StatusCode, replayed: response.Header.Get("Idempotent-Replayed") == "true", raw: string(raw), err: err}
	if err != nil {
		return r
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&r.body); err != nil {
		r.err = fmt.Errorf("answered %d with something that is not a JSON object: %q", r.status, raw)
	}
	return r
}

// judge returns what is different between an answer and an outcome.
func (r reply) judge(o outcome, notation string) []string {
	switch {
	case r.err != nil:
		return []string{r.err.Error()}
	case r.status != o.status:
		return []string{fmt.Sprintf("answered %d %s, want %d %s", r.status, r.raw, o.status, o.code)}
	case o.code != "":
		return compare("body", object{"error": o.code, "message": like("")}, r.body, notation)
	}
	return compare("body", o.body, r.body, notation)
}
