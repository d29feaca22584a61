package card_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// rewritten is the service as seen through a proxy that replaces fields in the
// answers about single cards.
func rewritten(t *testing.T, s *acctest.Service, fields map[string]any) *acctest.Protocol {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(s.URL, "/api/v1"))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		body := answer.Body.Bytes()
		var card map[string]any
		if json.Unmarshal(body, &card) == nil && card["last4"] != nil {
			maps.Copy(card, fields)
			body, _ = json.Marshal(card)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = bytes.NewReader(body).WriteTo(w)
	}))
	t.Cleanup(server.Close)
	return acctest.Configure(t, object{"base_url": server.URL + "/api/v1", "api_key": s.Key})
}

// A settlement above what was authorized can take a card below zero.
func TestBalanceBelowZero(t *testing.T) {
	t.Parallel()
	l := issued(t, object{"amount": 60, "top_up": object{"below": 10, "to": 50}})
	p := rewritten(t, l.s, map[string]any{"balance": -5.25})
	now, diags := p.Refresh(l.card)
	l.succeed(diags)
	l.same("the state", object{"balance": acctest.Number("-5.25")}, now.Values)
	change, diags := p.Plan(now, complete(object{"amount": 60, "top_up": object{"below": 10, "to": 50}}))
	l.succeed(diags)
	l.same("the plan", object{"topped_up": acctest.Number("55.25")}, change.Planned)
	read, diags := p.ReadDataSource("vcard_card", object{"id": l.id()})
	l.succeed(diags)
	l.same("the data source", object{"balance": acctest.Number("-5.25")}, read)
}

// Terraform would take any difference from the plan for a bug in the provider,
// taint the card and issue another one, again and again.
func TestCardIsIssuedOtherwiseThanAsked(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	p := rewritten(t, l.s, map[string]any{"label": "trimmed", "spending_limit": 100, "status": "frozen"})
	config := object{"amount": 60, "label": " trimmed", "spending_limit": 200, "frozen": false}
	change, diags := p.Plan(l.card, complete(config))
	l.succeed(diags)
	now, diags := p.Apply(change, nil)
	l.succeed(diags)
	for name, value := range change.Planned {
		if value != acctest.Unknown {
			l.same("what apply answers", object{name: value}, now.Values)
		}
	}
	id, _ := now.Values["id"].(string)
	l.says("the warning", diags.Warnings(), id, `label "trimmed"`, "spending_limit 100.00", "next plan")
	now, diags = p.Refresh(now)
	l.succeed(diags)
	l.same("the refreshed state", object{"label": "trimmed", "spending_limit": acctest.Number("100"), "frozen": true}, now.Values)
}
