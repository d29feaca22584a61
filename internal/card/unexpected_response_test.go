package card_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// rewritten is the service as seen through a proxy that replaces fields in the
// answers about single cards.
func rewritten(t *testing.T, s *acctest.Service, fields map[string]any) *acctest.Protocol {
	t.Helper()
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a := s.Send(r.Context(), r.Method, r.URL.RequestURI(), string(body), sandboxtest.IdempotencyKey, r.Header.Get(sandboxtest.IdempotencyKey))
		raw := []byte(a.Raw)
		if a.Body["last4"] != nil {
			maps.Copy(a.Body, fields)
			raw, _ = json.Marshal(a.Body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_, _ = w.Write(raw)
		return true
	}).Protocol(nil)
}

// A settlement above what was authorized can take a card below zero.
func TestBalanceBelowZero(t *testing.T) {
	t.Parallel()
	f := issued(t, object{"amount": 60, "top_up": object{"below": 10, "to": 50}})
	p := rewritten(t, f.s, map[string]any{"balance": -5.25})
	now, diags := p.Refresh(f.card)
	f.succeed(diags)
	f.same("the state", object{"balance": acctest.Number("-5.25")}, now.Values)
	change, diags := p.Plan(now, complete(object{"amount": 60, "top_up": object{"below": 10, "to": 50}}))
	f.succeed(diags)
	f.same("the plan", object{"topped_up": acctest.Number("55.25")}, change.Planned)
	read, diags := p.ReadDataSource("vcard_card", object{"id": f.id()})
	f.succeed(diags)
	f.same("the data source", object{"balance": acctest.Number("-5.25")}, read)
}

// Terraform would take any difference from the plan for a bug in the provider,
// taint the card and issue another one, again and again.
func TestCardIsIssuedOtherwiseThanAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := rewritten(t, f.s, map[string]any{
		"bin_id": strings.ToUpper(bin), "label": "trimmed", "spending_limit": 100, "status": "frozen", "auto_freeze_at": 25, "allowed_categories": []string{"travel"},
	})
	config := object{"amount": 60, "label": " trimmed", "spending_limit": 200, "frozen": false, "auto_freeze_at": 30, "allowed_categories": []any{"travel", "food"}}
	change, diags := p.Plan(f.card, complete(config))
	f.succeed(diags)
	now, diags := p.Apply(change, nil)
	f.succeed(diags)
	for name, value := range change.Planned {
		if value != acctest.Unknown {
			f.same("what apply returns", object{name: value}, now.Values)
		}
	}
	id, _ := now.Values["id"].(string)
	f.says("the warning", diags.Warnings(), id, `label "trimmed" in place of " trimmed"`, "spending_limit 100.00 USD in place of 200.00",
		`bin_id "`+strings.ToUpper(bin)+`" in place of "`+bin+`"`, "auto_freeze_at 25.00 in place of 30.00", `allowed_categories ["travel"] in place of [`)
	now, diags = p.Refresh(now)
	f.succeed(diags)
	f.same("the refreshed state", object{"bin_id": bin, "label": " trimmed", "spending_limit": acctest.Number("200"), "frozen": true}, now.Values)
}
