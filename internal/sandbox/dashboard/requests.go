package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

func requestsPage() *page {
	return &page{
		Path: "/requests", Title: "Requests", template: "requests", read: readRequests,
		actions: []action{{name: "forget", route: "DELETE " + server.Control + "/requests", done: "The requests are forgotten."}},
	}
}

type requestList struct {
	Calls []requestlog.Call

	*list
}

func readRequests(v *view) (any, error) {
	l := v.list()
	calls, more, err := requestlog.Newest(v.Tx, v.Account.ID, l.page)
	l.shows(len(calls), more)
	return requestList{calls, l}, err
}
