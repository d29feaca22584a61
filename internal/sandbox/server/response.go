package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

// RespondWithPage responds to a control call with a page of a list and the number of items in the whole list.
func RespondWithPage[T any](c *Call, read func(wire.Page) (data []T, total int64, err error)) (wire.Response, error) {
	query := c.Query()
	page := query.LargePage()
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	data, total, err := read(page)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.OK(map[string]any{"data": data, "page": page.Number, "per_page": page.Size, "total": total}), nil
}

// response is a response with the extent to which it is sent.
type response struct {
	wire.Response

	extent extent
}

// extent is how much of a response is sent.
type extent int

const (
	whole     extent = iota
	truncated        // the headers and the first half of the body; then the connection is closed
	dropped          // nothing; the connection is closed
)

// sentStatus returns the status that the client sees, or 0 if it sees no response.
func (r response) sentStatus() int {
	if r.extent == dropped {
		return 0
	}
	return r.Status
}

// send writes the response. It panics with http.ErrAbortHandler if the response is dropped or truncated. It ignores
// errors of Write, because nothing more can be sent then.
func (r response) send(w http.ResponseWriter, requestID string, now time.Time) {
	if r.extent == dropped {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	maps.Copy(h, r.Header)
	h.Set("Content-Type", cmp.Or(r.ContentType, jsonType))
	h.Set("Content-Length", strconv.Itoa(len(r.Body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", requestID)
	h.Set("Date", now.UTC().Format(http.TimeFormat)) // otherwise, net/http sends the real time
	if r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		// HTTP allows no body.
		h.Del("Content-Length")
		r.Body = nil
	}
	w.WriteHeader(r.Status)
	if r.extent == truncated {
		firstHalf := r.Body[:len(r.Body)/2]
		_, _ = w.Write(firstHalf)
		_ = http.NewResponseController(w).Flush() // some writers have no buffer to flush
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(r.Body)
}

func rateLimited(wait time.Duration) *wire.Error {
	return &wire.Error{
		Status:  http.StatusTooManyRequests,
		Code:    wire.CodeRateLimited,
		Wait:    wait,
		Message: fmt.Sprintf("the rate limit of this API key is reached; try again in %d s", seconds(wait)),
	}
}

func internalError(requestID string) *wire.Error {
	return wire.NewError(http.StatusInternalServerError, wire.CodeInternal,
		"internal error in request %s; if you run vcard sandbox, its log has the details", requestID)
}

// requireReady returns an error unless the account's onboarding is complete.
func requireReady(state account.State) error {
	switch state {
	case account.Ready:
		return nil
	case account.APINotEnabled:
		return wire.NewError(http.StatusForbidden, wire.CodeAPINotEnabled,
			"API access is not enabled for this account yet; ask support to enable it")
	case account.EmailUnconfirmed:
		return wire.NewError(http.StatusForbidden, wire.CodeOnboardingIncomplete, "confirm the account's e-mail address")
	case account.NoDeposit:
		return wire.NewError(http.StatusForbidden, wire.CodeOnboardingIncomplete, "make a first deposit")
	}
	return fmt.Errorf("account state %q is unknown", state)
}

// errorResponse returns the response for an error, and keeps the error for the request log. Quirks decide the format of
// Retry-After and, for API calls, that of the body.
func (x *exchange) errorResponse(e *wire.Error) wire.Response {
	x.refused = e
	res := wire.Response{Status: e.Status, Header: http.Header{}}
	if e.Allow != "" {
		res.Header.Set("Allow", e.Allow)
	}
	if e.Wait > 0 {
		switch x.quirks.RetryAfter { // with "absent", there is no such header
		case behavior.Seconds:
			res.Header.Set("Retry-After", strconv.FormatInt(seconds(e.Wait), 10))
		case behavior.Date: // by the same clock as the Date header
			waitSeconds := seconds(e.Wait) + 1 // one more, because the date omits the fraction of a second
			retryAt := x.now.Add(time.Duration(waitSeconds) * time.Second)
			res.Header.Set("Retry-After", retryAt.UTC().Format(http.TimeFormat))
		}
	}
	res.Body = wire.Encode(e)
	if !x.isAPI() { // the quirk error_body is for the API only
		return res
	}
	switch x.quirks.ErrorBody {
	case behavior.Extended:
		res.Body = wire.Encode(map[string]any{
			"error":      e.Code,
			"message":    e.Message,
			"status":     e.Status,
			"request_id": x.id,
			"details":    map[string]any{},
		})
	case behavior.Nested:
		res.Body = wire.Encode(map[string]any{"error": map[string]string{"code": e.Code, "message": e.Message}})
	case behavior.Text:
		res.Body = []byte(e.Message + "\n")
		res.ContentType = textType
	}
	return res
}

// seconds returns the duration in seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
