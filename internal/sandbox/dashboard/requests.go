package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func requestsPage() *page {
	return &page{
		Path: "/requests", Title: "Requests", html: requestsHTML, read: readRequests,
		actions: []action{{name: "forget", route: "DELETE " + server.Control + "/requests", done: "The requests are forgotten."}},
	}
}

// requestList has the requests run by run or, with a filter, one after the other.
type requestList struct {
	Runs  []run
	Calls []request
}

// run is one with its newest requests.
type run struct {
	*requestlog.Run

	Calls []request
	More  bool
}

// request is what a client wanted: its newest try, and those before it with the same
// idempotency key that stand on the same page.
type request struct {
	requestlog.Entry

	Earlier []requestlog.Entry
}

// Summary says how the run went.
func (r *run) Summary() string {
	var parts []string
	parts = append(parts, counted(r.Lost, "lost", "lost")...)
	parts = append(parts, counted(r.Refused, "refused", "refused")...)
	parts = append(parts, counted(r.Requests, "request", "requests")...)
	return strings.Join(append(parts, took(r.Took())), ", ")
}

// took writes how long something has taken.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d.%d ms", d.Milliseconds(), d.Microseconds()/100%10)
}

func readRequests(v *view) (any, error) {
	const runs, ofRun = 20, 20
	data := new(requestList)
	l := v.list(search("run", "Run"),
		pick("outcome", "succeeded", "refused", "failed", "lost", "fault"), pick("method", http.MethodGet, http.MethodPost, http.MethodDelete))
	filter := requestlog.Filter{Run: l.text("run"), Method: l.text("method"), Outcome: l.text("outcome")}
	if filter != (requestlog.Filter{}) {
		entries, more, err := requestlog.Newest(v.Tx, v.Account.ID, filter, l.page)
		data.Calls = newRequests(entries)
		l.shows(len(entries), more)
		return data, err
	}
	l.page.Size = runs
	found, more, err := requestlog.Runs(v.Tx, v.Account.ID, l.page)
	l.shows(len(found), more)
	for _, r := range found {
		entries, more, err := requestlog.Newest(v.Tx, v.Account.ID, requestlog.Filter{RunID: r.ID}, wire.Page{Number: 1, Size: ofRun})
		if err != nil {
			return nil, err
		}
		data.Runs = append(data.Runs, run{r, newRequests(entries), more})
	}
	return data, err
}

// newRequests puts the tries of each call together.
func newRequests(entries []requestlog.Entry) (all []request) {
	byCall := map[string]int{}
	for _, e := range entries {
		call := e.Method + " " + e.Path + " " + e.IdempotencyKey
		if i, found := byCall[call]; found && e.IdempotencyKey != "" {
			all[i].Earlier = append(all[i].Earlier, e)
			continue
		}
		byCall[call] = len(all)
		all = append(all, request{Entry: e})
	}
	return all
}
