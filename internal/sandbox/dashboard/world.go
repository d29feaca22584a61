package dashboard

import (
	"encoding/json"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

func worldPage() page {
	const faults, accounts = server.Control + "/faults", server.Control + "/accounts"
	return page{
		Path: "/world", Title: "World", template: "world", read: readWorld,
		actions: []action{
			{name: "advance", operation: advance, done: says("Time has passed.")},
			{name: "set-limits", operation: setLimits, done: says("The limits are set.")},
			{name: "restore-limits", operation: restore("/limits"), done: says("The limits are as documented.")},
			{name: "set-quirks", operation: setQuirks, done: says("The quirks are set.")},
			{name: "restore-quirks", operation: restore("/quirks"), done: says("The quirks are as usual.")},
			{name: "add-fault", operation: addFault, done: says("The fault is set.")},
			{name: "remove-fault", done: says("The fault is removed."), operation: func(f form) server.Operation {
				return server.Operation{Route: http.MethodDelete + " " + faults + "/{id}", Path: map[string]string{"id": f.Text("id")}}
			}},
			{name: "remove-faults", done: says("All faults are removed."), operation: func(form) server.Operation {
				return server.Operation{Route: http.MethodDelete + " " + faults}
			}},
			{name: "create-account", operation: func(f form) server.Operation {
				return server.Operation{
					Route:  http.MethodPost + " " + accounts,
					Fields: map[string]any{"state": f.Text("state"), "initial_balance": f.Number("initial_balance")},
				}
			}},
			{name: "reset", firstOnly: true, done: says("Everything is as it was at the start."), operation: func(form) server.Operation {
				return server.Operation{Route: http.MethodPost + " " + server.Control + "/reset"}
			}},
		},
	}
}

type world struct {
	Limits   []setting
	Quirks   []setting
	Faults   []behavior.Fault
	Created  *createdAccount // only in response to the press that created it
	States   []string
	Accounts []account.Account // for the first one alone
	Paging   paging
}

type createdAccount struct {
	ID  string `json:"account_id"`
	Key string `json:"api_key"`
}

func readWorld(v *view) (any, error) {
	w := world{States: account.States()}
	if created := new(createdAccount); v.Response("create-account", created) {
		w.Created = created
	}
	limits, err := behavior.ReadLimits(v.Tx)
	if err != nil {
		return nil, err
	}
	w.Limits = limitSettings(limits)
	quirks, err := behavior.ReadQuirks(v.Tx)
	if err != nil {
		return nil, err
	}
	w.Quirks = quirkSettings(quirks)
	if w.Faults, err = behavior.Faults(v.Tx); err != nil || !v.Account.First() {
		return w, err
	}
	page := readPage(v.Query)
	accounts, total, err := account.List(v.Tx, page)
	w.Accounts = accounts
	w.Paging = newPaging(v.Query, page, len(accounts), page.Offset()+int64(len(accounts)) < total)
	return w, err
}

func advance(f form) server.Operation {
	return server.Operation{Route: http.MethodPost + " " + server.Control + "/clock", Fields: map[string]any{"advance": f.Text("advance")}}
}

func addFault(f form) server.Operation {
	fields := map[string]any{
		"method": f.Text("method"), "path": f.Text("path"), "times": f.Number("times"),
		"when": f.Text("when"), "delay_ms": f.Number("delay_ms"), "then": f.Text("then"),
	}
	if f.Text("then") == "status" {
		response := map[string]any{"status": f.Number("status")}
		if body := f.Text("body"); json.Valid([]byte(body)) {
			response["body"] = json.RawMessage(body)
		} else if body != "" {
			response["body"] = body
		}
		fields["then"] = response
	}
	return server.Operation{Route: http.MethodPost + " " + server.Control + "/faults", Fields: fields}
}
