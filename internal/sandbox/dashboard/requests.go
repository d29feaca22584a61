package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

func requestsPage() *page {
	return &page{
		Path: "/requests", Title: "Requests", html: requestsHTML, read: readRequests,
		actions: []action{{name: "forget", route: "DELETE " + server.Control + "/requests", done: "The requests are forgotten."}},
	}
}

// requestList has the runs or, with a filter, requests one after the other.
type requestList struct {
	Runs  []*requestlog.Run
	Calls []*requestlog.Entry
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
	data := new(requestList)
	l := v.list(search("run", "Run"),
		pick("outcome", "succeeded", "refused", "failed", "lost", "fault"), pick("method", http.MethodGet, http.MethodPost, http.MethodDelete))
	filter := requestlog.Filter{Run: l.text("run"), Method: l.text("method"), Outcome: l.text("outcome")}
	var (
		more bool
		err  error
	)
	if filter == (requestlog.Filter{}) {
		data.Runs, more, err = requestlog.Runs(v.Tx, v.Account.ID, l.page)
	} else {
		data.Calls, more, err = requestlog.Newest(v.Tx, v.Account.ID, filter, l.page)
	}
	l.shows(len(data.Runs)+len(data.Calls), more)
	return data, err
}
