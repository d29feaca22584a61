package wire

import (
	"net/http"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
)

// extendedError is the body of a refusal that says more than it has to.
type extendedError struct {
	Code      string         `json:"error"`
	Message   string         `json:"message"`
	Status    int            `json:"status"`
	RequestID string         `json:"request_id"`
	Details   map[string]any `json:"details"`
}

// shape gives a refusal the form that the quirks ask for.
func (x *exchange) shape(a answer) answer {
	e := a.refusal
	if e == nil {
		return a
	}
	if e.wait > 0 {
		a.header = http.Header{}
		switch x.quirks.RetryAfter {
		case quirk.Seconds:
			a.header.Set("Retry-After", strconv.FormatInt(seconds(e.wait), 10))
		case quirk.Date: // by the clock that the Date header shows
			at := time.Now().Add(time.Duration(seconds(e.wait)+1) * time.Second)
			a.header.Set("Retry-After", at.UTC().Format(http.TimeFormat))
		}
	}
	if !x.isAPI() {
		return a
	}
	switch x.quirks.ErrorBody {
	case quirk.Extended:
		a.body = mustEncode(extendedError{e.Code, e.Message, e.Status, x.id, map[string]any{}})
	case quirk.Text:
		a.body, a.contentType = []byte(e.Message+"\n"), textType
	}
	return a
}
