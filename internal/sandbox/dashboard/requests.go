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
	Calls  []requestlog.Call
	Paging paging
}

func readRequests(v *view) (any, error) {
	page := readPage(v.Query)
	calls, more, err := requestlog.Newest(v.Tx, v.Account.ID, page)
	return requestList{calls, newPaging(v.Query, page, len(calls), more)}, err
}
