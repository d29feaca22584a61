// Package control serves most control calls, which the real service does not have. For example, they advance the clock,
// set the quirks or the faults of the sandbox, simulate purchases, or reset the sandbox.
package control

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/vcard/terraform-provider-vcard/internal/contract/openapi"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Routes returns the control calls of this package.
func Routes() []server.Route {
	const (
		accounts = server.Control + "/accounts"
		clock    = server.Control + "/clock"
		faults   = server.Control + "/faults"
		limits   = server.Control + "/limits"
		quirks   = server.Control + "/quirks"
		requests = server.Control + "/requests"
	)
	contractJSON := openapi.JSON(openapi.Contract)
	controlJSON := openapi.JSON(openapi.Control)
	return []server.Route{
		{Method: http.MethodGet, Path: clock, Handle: readClock},
		{Method: http.MethodPost, Path: clock, Handle: firstAccountOnly(moveClock)},
		{Method: http.MethodGet, Path: accounts, Handle: listAccounts},
		{Method: http.MethodPost, Path: accounts, Handle: createAccount},
		{Method: http.MethodGet, Path: server.Control + "/api-key", Handle: readKey},
		{Method: http.MethodPost, Path: server.Control + "/keys", Handle: server.NoFields(addKey)},
		{Method: http.MethodDelete, Path: server.Control + "/keys/{id}", Handle: server.NoFields(revokeKey)},
		{Method: http.MethodGet, Path: server.Control + "/ledger", Handle: auditLedger},
		documentRoute("/{$}", openapi.Calls, jsonType),
		documentRoute("/openapi.yaml", openapi.Contract, yamlType),
		documentRoute("/openapi.json", contractJSON, jsonType),
		documentRoute("/control.yaml", openapi.Control, yamlType),
		documentRoute("/control.json", controlJSON, jsonType),
		{Method: http.MethodGet, Path: limits, Handle: readLimits},
		{Method: http.MethodPut, Path: limits, Handle: firstAccountOnly(replaceLimits)},
		{Method: http.MethodGet, Path: limits + "/used", Handle: readUsed},
		{Method: http.MethodGet, Path: quirks, Handle: readQuirks},
		{Method: http.MethodPut, Path: quirks, Handle: firstAccountOnly(replaceQuirks)},
		{Method: http.MethodGet, Path: faults, Handle: listFaults},
		{Method: http.MethodPost, Path: faults, Handle: firstAccountOnly(addFault)},
		{Method: http.MethodDelete, Path: faults, Handle: firstAccountOnly(clearFaults)},
		{Method: http.MethodDelete, Path: faults + "/{id}", Handle: firstAccountOnly(server.NoFields(removeFault))},
		{Method: http.MethodGet, Path: requests, Handle: listRequests, NeedsRequestLog: true},
		{Method: http.MethodDelete, Path: requests, Handle: forgetRequests, NeedsRequestLog: true},
		{Method: http.MethodPost, Path: server.Control + "/simulate", Handle: firstAccountOnly(simulate)},
		{Method: http.MethodPost, Path: server.Control + "/reset", Handle: server.NoFields(reset), NeedsRequestLog: true},
	}
}

// firstAccountOnly wraps a handler whose change affects all accounts. It refuses calls by all accounts but the first.
func firstAccountOnly(change func(*server.Call) (wire.Response, error)) func(*server.Call) (wire.Response, error) {
	return func(c *server.Call) (wire.Response, error) {
		err := RequireFirstAccount(c, "make changes that affect all accounts")
		if err != nil {
			return wire.Response{}, err
		}
		return change(c)
	}
}

const (
	jsonType = "application/json"
	yamlType = "application/yaml"
)

// documentRoute returns a public route that serves a document about the calls. The path is relative to server.Control.
func documentRoute(path string, document func() []byte, contentType string) server.Route {
	handle := func(*server.Call) (wire.Response, error) {
		return wire.Response{Status: http.StatusOK, Body: document(), ContentType: contentType}, nil
	}
	return server.Route{Method: http.MethodGet, Path: server.Control + path, Handle: handle, Public: true}
}

// auditLedger audits the account's ledger. It returns the report with a page of the ledger accounts.
func auditLedger(c *server.Call) (wire.Response, error) {
	query := c.Query()
	page := query.LargePage()
	err := query.Done()
	if err != nil {
		return wire.Response{}, err
	}
	report, err := ledger.Audit(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	total := int64(len(report.Accounts))
	start := min(page.Offset(), total) // a page after the last one is empty
	end := min(start+page.Size, total)
	report.Accounts = report.Accounts[start:end]
	return wire.OK(report), nil
}

// requestView is the JSON form of an entry of the request log. It adds fields that the JSON of Entry leaves out.
type requestView struct {
	*requestlog.Entry

	IdempotencyKey *string     `json:"idempotency_key"`
	DurationMS     json.Number `json:"duration_ms"`
}

// listRequests returns a page of the account's API calls from the request log, oldest first.
func listRequests(c *server.Call) (wire.Response, error) {
	return server.RespondWithPage(c, func(page wire.Page) ([]requestView, int64, error) {
		entries, total, err := requestlog.List(c.Tx, c.Account.ID, page)
		if err != nil {
			return nil, 0, err
		}
		data := make([]requestView, len(entries))
		for i, e := range entries {
			milliseconds := fmt.Sprintf("%.3f", e.Duration.Seconds()*1000)
			data[i] = requestView{Entry: e, DurationMS: json.Number(milliseconds)}
			if e.IdempotencyKey != "" {
				data[i].IdempotencyKey = &e.IdempotencyKey
			}
		}
		return data, total, nil
	})
}

// forgetRequests removes the account's API calls from the request log.
func forgetRequests(c *server.Call) (wire.Response, error) {
	err := requestlog.Forget(c.Tx, c.Account.ID)
	if err != nil {
		return wire.Response{}, err
	}
	return wire.List([]requestView{}), nil
}
