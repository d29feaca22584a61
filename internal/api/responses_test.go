package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Services differ in what API.md does not fix; none of it may matter.
func TestResponsesMayDiffer(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"plain numbers":  `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50,"spending_limit":100.0,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`,
		"strings":        `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":"50.00","spending_limit":"1e2","label":"ads","created_at":"2026-03-01T12:00:00Z"}`,
		"capitals":       strings.Replace(cardBody, "active", "ACTIVE", 1),
		"other fields":   strings.Replace(cardBody, "}", `,"Balance":7,"ID":"card_2","ſtatus":"frozen"}`, 1),
		"unknown fields": strings.Replace(cardBody, "{", `{"balance_eur":1.234,"owner":{"a":[1]},`, 1),
	} {
		card, err := newClient(t, respond(200, body)).GetCard(t.Context(), "card_1")
		want := api.CardSummary{CreatedAt: "2026-03-01T12:00:00Z", CardListItem: api.CardListItem{
			ID: "card_1", BinID: "bin_1", Network: "visa", Last4: "4242", Status: "active", Balance: 50 * usd.Dollar, SpendingLimit: 100 * usd.Dollar, Label: "ads",
		}}
		if err != nil || card != want {
			t.Errorf("%s: %+v, %v", name, card, err)
		}
	}
	t.Run("nulls and an unknown status", func(t *testing.T) {
		t.Parallel()
		body := `{"id":"card_1","bin_id":"bin_1","status":"sleeping","balance":0,"spending_limit":0,"label":null,"network":null}`
		card, err := newClient(t, respond(200, body)).GetCard(t.Context(), "card_1")
		if want := (api.CardListItem{ID: "card_1", BinID: "bin_1", Status: "sleeping"}); err != nil || card.CardListItem != want {
			t.Errorf("%+v, %v", card, err)
		}
	})
	for written, want := range map[string]api.Timestamp{
		`"2026-03-01T12:00:00.123456Z"`:   "2026-03-01T12:00:00.123456Z",
		`"2026-03-01T14:00:00+02:00"`:     "2026-03-01T14:00:00+02:00",
		`"2026-03-01T12:00:00.250"`:       "2026-03-01T12:00:00.250Z",
		`"2026-03-01 12:00:00"`:           "2026-03-01T12:00:00Z",
		`"2026-03-01 12:00:00+00:00"`:     "2026-03-01T12:00:00Z",
		`"2026-03-01 14:00:00.5+02"`:      "2026-03-01T14:00:00.5+02:00",
		`"2026-03-01T14:00:00,5+0200"`:    "2026-03-01T14:00:00.5+02:00",
		`"2026-03-01t12:00:00z"`:          "2026-03-01T12:00:00Z",
		`"2026-03-01T12:00Z"`:             "2026-03-01T12:00Z", // nobody knows whether it was before 12:00:30
		`"20260301T120000Z"`:              "2026-03-01T12:00:00Z",
		`"Sun, 01 Mar 2026 12:00:00 UTC"`: "Sun, 01 Mar 2026 12:00:00 UTC",
		`1772366400`:                      "1772366400",
	} {
		card, err := newClient(t, respond(200, strings.Replace(cardBody, `"2026-03-01T12:00:00Z"`, written, 1))).GetCard(t.Context(), "card_1")
		if err != nil || card.CreatedAt != want || card.Balance != 50*usd.Dollar {
			t.Errorf("the time %s: %+v, %v", written, card, err)
		}
	}
	t.Run("an issued card with a property in another form", func(t *testing.T) {
		t.Parallel()
		usual := map[string]string{"allowed_categories": `["ads"]`, "auto_freeze_at": "5", "metadata": `{"team":"growth"}`, "expires_at": `"2029-03-31 12:00:00"`}
		for odd, value := range map[string]string{"allowed_categories": `[{"code":"ads"}]`, "auto_freeze_at": "false", "metadata": `[{"key":"team"}]`, "expires_at": `"2029-03-31\u001b[31m"`} {
			properties := maps.Clone(usual)
			properties[odd] = value
			body := cardBody
			for name, value := range properties {
				body = strings.Replace(body, "{", fmt.Sprintf("{%q:%s,", name, value), 1)
			}
			service := steps(respond(200, `{"data":[]}`), respond(201, body))
			issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
			card := issuance.Card
			same(t, odd, []any{toldOf(issuance, err), len(service.requests())}, "[issued card_1 2]")
			for name, has := range map[string]bool{
				"allowed_categories": card.AllowedCategories != nil, "auto_freeze_at": card.AutoFreezeAt != nil, "metadata": card.Metadata != nil, "expires_at": card.ExpiresAt == "2029-03-31",
			} {
				if has == (name == odd) {
					t.Errorf("with an odd %s, %s is %v", odd, name, has)
				}
			}
		}
	})
	t.Run("an issued card that cannot be read", func(t *testing.T) {
		t.Parallel()
		card := strings.Replace(cardBody, "100.00", "null", 1)
		service := steps(respond(200, `{"data":[]}`), respond(201, card), respond(200, `{"data":[`+card+`]}`))
		_, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		if kindOf(err) != "unknown" || !strings.Contains(err.Error(), `the response is about "card_1", but`) || len(service.requests()) != 3 {
			t.Errorf("%v, after %d requests", err, len(service.requests()))
		}
	})
	t.Run("an issued card of nulls", func(t *testing.T) {
		t.Parallel()
		created := `{"id":"card_1","bin_id":"bin_1","status":"active","balance":50,"spending_limit":5000,"allowed_categories":null,"metadata":{"n":12345678901234567890},"auto_freeze_at":null}`
		service := steps(respond(200, `{"data":null}`), respond(201, created))
		issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		card := issuance.Card
		same(t, "issued", []any{err, card.AllowedCategories, card.AutoFreezeAt, card.Metadata["n"]}, "[<nil> [] <nil> 12345678901234567890]")
	})
	t.Run("lists of nothing, and what is no list", func(t *testing.T) {
		t.Parallel()
		for isList, bodies := range map[bool][]string{
			true:  {`{"data":[]}`, `{"data":null}`, `{"total":0}`, `{"page":1,"total":0}`},
			false: {`null`, `[]`, `{}`, `{"total":1}`, `{"page":1}`, `{"total":null}`, `{"data":[null]}`, `{"data":{}}`, `{"data":[]}x`, ``},
		} {
			for _, body := range bodies {
				client := newClient(t, respond(200, body), onlyOneTry)
				if bins, err := client.Bins(t.Context()); len(bins) != 0 || (err == nil) != isList {
					t.Errorf("%s: %v, %v", body, bins, err)
				}
				if isList && len(listed(t, client, api.CardFilter{})) != 0 {
					t.Errorf("%s lists cards", body)
				}
			}
		}
	})
	t.Run("mobile wallets", func(t *testing.T) {
		t.Parallel()
		body := `{"data":[{"id":"bin_1","network":"visa","category":"ads","3ds":true,"brand_pay":true,"in_other_wallet":false,"fee_pay":1.5}],"total":1}`
		bins, err := newClient(t, respond(200, body)).Bins(t.Context())
		same(t, "the BINs", []any{err, bins}, "[<nil> [{ID:bin_1 Network:visa Category:ads ThreeDS:true Wallets:map[brand_pay:true in_other_wallet:false]}]]")
	})
}

// A response of 8 MiB, whatever is in it, costs seconds and some memory at most.
//
//nolint:paralleltest // it measures memory
func TestLargeResponses(t *testing.T) {
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (8<<20-len(before)-len(after))/len(unit)) + after
	}
	var many strings.Builder
	for i := 0; many.Len() < 8<<20-100; i++ {
		fmt.Fprintf(&many, `,"a%d":0`, i)
	}
	for name, body := range map[string]string{
		"zeros":           fill(`{"data":[0`, `,0`, `],"total":1}`),
		"zeros alone":     fill(`[0`, `,0`, `]`),
		"empty objects":   fill(`{"data":[{}`, `,{}`, `],"total":1}`),
		"lists in lists":  fill(`{"data":`, `[`, ``),
		"fields":          `{"data":[],"total":"x"` + many.String() + `}`,
		"a card's fields": `{"id":"card_1"` + many.String() + `}`,
		"metadata":        fill(`{"id":"card_1","metadata":{"a":0`, `,"a":0`, `}}`),
		"one text":        fill(`{"data":[{"id":"`, `a`, `"}]}`),
		"more than that":  strings.Repeat(" ", 9<<20) + cardBody,
	} {
		for _, status := range []int{200, 400} {
			client := newClient(t, respond(status, body), onlyOneTry)
			for _, call := range []string{"list", "read", "bins", "transactions"} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				err := try(t.Context(), client, call)
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || len(err.Error()) > 2000 || took > 30*time.Second || allocated > 200 {
					t.Errorf("%s of %s with %d took %s and %d MiB: %.300v", call, name, status, took, allocated, err)
				}
			}
		}
	}
}

// A list that never ends is refused in words, with or without a total.
func TestEndlessLists(t *testing.T) {
	t.Parallel()
	card := func(n int, total string) string {
		return fmt.Sprintf(`{"data":[%s],"page":%d,"per_page":1%s}`, strings.Replace(cardBody, "card_1", fmt.Sprintf("card_%d", n), 1), n, total)
	}
	for name, test := range map[string]struct {
		call string
		page func(n int) string
	}{
		"without a total":         {"cards", func(n int) string { return card(n, "") }},
		"with a total that grows": {"cards", func(n int) string { return card(n, fmt.Sprintf(`,"total":%d00`, n+1)) }},
		"with a huge total":       {"cards", func(n int) string { return card(n, `,"total":100000`) }},
		"transactions": {"transactions", func(n int) string {
			return fmt.Sprintf(`{"data":[{"id":"txn_%d","type":"settlement","amount":1}]}`, n)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pages atomic.Int32
			err := try(t.Context(), newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(pages.Add(1))
				if test.call == "transactions" && r.URL.Query().Get("page") == "1" {
					n = 0
				}
				_, _ = fmt.Fprint(w, test.page(n))
			})), test.call)
			if err == nil || !strings.Contains(err.Error(), "no end") || test.call == "cards" && pages.Load() > 1100 {
				t.Errorf("after %d pages: %v", pages.Load(), err)
			}
		})
	}
}
