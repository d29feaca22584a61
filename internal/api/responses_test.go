package api_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

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
		"unknown fields": strings.Replace(cardBody, "{", `{"balance_eur":1.234,"owner":{"a":[1]},`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			card, err := newClient(t, respond(200, body)).GetCard(t.Context(), "card_1")
			want := api.CardSummary{CreatedAt: "2026-03-01T12:00:00Z", CardListItem: api.CardListItem{
				ID: "card_1", BinID: "bin_1", Network: "visa", Last4: "4242", Status: "active", Balance: 50 * usd.Dollar, SpendingLimit: 100 * usd.Dollar, Label: "ads",
			}}
			if err != nil || card != want {
				t.Errorf("%+v, %v", card, err)
			}
		})
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
		t.Run("the time "+written, func(t *testing.T) {
			t.Parallel()
			card, err := newClient(t, respond(200, strings.Replace(cardBody, `"2026-03-01T12:00:00Z"`, written, 1))).GetCard(t.Context(), "card_1")
			if err != nil || card.CreatedAt != want || card.Balance != 50*usd.Dollar {
				t.Errorf("%+v, %v", card, err)
			}
		})
	}
	t.Run("an issued card with a property in another form", func(t *testing.T) {
		t.Parallel()
		usual := map[string]string{"allowed_categories": `["ads"]`, "auto_freeze_at": "5", "metadata": `{"team":"growth"}`, "expires_at": `"2029-03-31"`}
		for odd, value := range map[string]string{"allowed_categories": `[{"code":"ads"}]`, "auto_freeze_at": "false", "metadata": `[{"key":"team"}]`, "expires_at": "1890000000"} {
			properties := maps.Clone(usual)
			properties[odd] = value
			body := cardBody
			for name, value := range properties {
				body = strings.Replace(body, "{", fmt.Sprintf("{%q:%s,", name, value), 1)
			}
			service := &script{steps: []http.HandlerFunc{respond(200, `{"data":[]}`), respond(201, body)}}
			issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
			card := issuance.Card
			if err != nil || card.ID != "card_1" || issuance.Recovered || len(service.requests()) != 2 {
				t.Errorf("%s: %+v, %v, after %d requests", odd, issuance, err, len(service.requests()))
			}
			for name, has := range map[string]bool{
				"allowed_categories": card.AllowedCategories != nil, "auto_freeze_at": card.AutoFreezeAt != nil, "metadata": card.Metadata != nil, "expires_at": card.ExpiresAt != "",
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
		service := &script{steps: []http.HandlerFunc{respond(200, `{"data":[]}`), respond(201, card), respond(200, `{"data":[`+card+`]}`)}}
		_, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		if kindOf(err) != "unknown" || !strings.Contains(err.Error(), `the response is about "card_1", but`) || len(service.requests()) != 3 {
			t.Errorf("%v, after %d requests", err, len(service.requests()))
		}
	})
	t.Run("an issued card of nulls", func(t *testing.T) {
		t.Parallel()
		created := `{"id":"card_1","bin_id":"bin_1","status":"active","balance":50,"spending_limit":5000,"allowed_categories":null,"metadata":{"n":12345678901234567890},"auto_freeze_at":null}`
		service := &script{steps: []http.HandlerFunc{respond(200, `{"data":null}`), respond(201, created)}}
		issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		if err != nil || issuance.Card.AllowedCategories != nil || issuance.Card.AutoFreezeAt != nil || fmt.Sprint(issuance.Card.Metadata["n"]) != "12345678901234567890" {
			t.Errorf("%+v, %v", issuance, err)
		}
	})
	t.Run("empty lists", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{`{"data":[]}`, `{"data":null}`, `{"total":0}`, `{"page":1,"total":0}`} {
			client := newClient(t, respond(200, body))
			bins, err := client.Bins(t.Context())
			if len(bins) != 0 || err != nil {
				t.Errorf("%s: %v, %v", body, bins, err)
			}
			for card, err := range client.Cards(t.Context(), api.CardFilter{}) {
				t.Errorf("%s: %v, %v", body, card, err)
			}
		}
	})
	t.Run("no list", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{`null`, `[]`, `{}`, `{"total":1}`, `{"page":1}`, `{"total":null}`, `{"data":[null]}`, `{"data":{}}`, `{"data":[]}x`, ``} {
			client := newClient(t, respond(200, body), func(c *api.Config) { c.MaxRetries = 0 })
			if bins, err := client.Bins(t.Context()); err == nil {
				t.Errorf("%s: %v", body, bins)
			}
		}
	})
	t.Run("mobile wallets", func(t *testing.T) {
		t.Parallel()
		body := `{"data":[{"id":"bin_1","network":"visa","category":"ads","3ds":true,"brand_pay":true,"in_other_wallet":false,"fee_pay":1.5}],"total":1}`
		bins, err := newClient(t, respond(200, body)).Bins(t.Context())
		if err != nil || len(bins) != 1 || !bins[0].ThreeDS || !maps.Equal(bins[0].Wallets, map[string]bool{"brand_pay": true, "in_other_wallet": false}) {
			t.Errorf("%+v, %v", bins, err)
		}
	})
	t.Run("challenges of other statuses", func(t *testing.T) {
		t.Parallel()
		body := `{"data":[{"id":"3ds_1","card_id":"card_1","amount":5,"otp":"1","status":"pending"},{"id":"3ds_2","card_id":"card_1","amount":5,"otp":"2","status":"approved"}]}`
		client := newClient(t, respond(200, body))
		pending, err := client.Challenges(t.Context(), "pending")
		if err != nil || len(pending) != 1 || pending[0].OTP != "1" || pending[0].Amount.String() != "5.00" {
			t.Errorf("%v, %v", pending, err)
		}
		if all, err := client.Challenges(t.Context(), ""); err != nil || len(all) != 2 {
			t.Errorf("%v, %v", all, err)
		}
	})
	t.Run("pages of a list without a total that are capped", func(t *testing.T) {
		t.Parallel()
		page := func(ids ...string) http.HandlerFunc {
			var entries []string
			for _, id := range ids {
				entries = append(entries, `{"id":"`+id+`","bin_id":"bin_1","status":"active","balance":1,"spending_limit":5}`)
			}
			return respond(200, `{"data":[`+strings.Join(entries, ",")+`],"page":1,"per_page":2}`)
		}
		service := &script{steps: []http.HandlerFunc{page("a", "b"), page("b", "c"), page("d"), page()}}
		var got []string
		for card, err := range newClient(t, service).Cards(t.Context(), api.CardFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, card.ID)
		}
		if strings.Join(got, "") != "abcd" {
			t.Errorf("%q", got)
		}
	})
}

func TestErrorsSayWhatCameBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status        int
		body          string
		code, message string
		ready         string
	}{
		"two fields":    {400, `{"error":"invalid_request","message":"no such card"}`, "invalid_request", "no such card", ""},
		"extra fields":  {422, `{"error":"invalid_request","message":"no","request_id":"r1"}`, "invalid_request", "no", ""},
		"nested fields": {400, `{"error":{"code":"x","message":"no such card"}}`, "x", "no such card", ""},
		"two messages":  {400, `{"error":"invalid_request","message":["no","nor that"]}`, "invalid_request", `["no","nor that"]`, ""},
		"another shape": {400, `{"error":["x"]}`, "", `{"error":["x"]}`, ""},
		"no fields":     {400, `{"detail":"nope"}`, "", `{"detail":"nope"}`, ""},
		"a page":        {404, "<html>\n\t<b>Not here\x00\x1b[31m</b></html>", "", "<html> <b>Not here [31m</b></html>", ""},
		"nothing":       {404, "", "", "", ""},
		"not ready":     {403, `{"error":"api_not_enabled","message":"ask support"}`, "api_not_enabled", "ask support", "api_not_enabled"},
		"not onboarded": {403, `{"error":"onboarding_incomplete","message":""}`, "onboarding_incomplete", "", "onboarding_incomplete"},
		"forbidden":     {403, `{"error":"forbidden","message":""}`, "forbidden", "", ""},
		"very long":     {400, strings.Repeat("é", 10_000), "", strings.Repeat("é", 250) + "…", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newClient(t, respond(test.status, test.body)).GetCard(t.Context(), "card_1")
			got, ok := errors.AsType[*api.Error](err)
			if !ok || got.Status != test.status || got.Code != test.code || got.Message != test.message || got.Method != "GET" || got.Path != "/cards/card_1" {
				t.Fatalf("%#v", err)
			}
			if api.IsNotFound(err) || api.NotReadyCode(err) != test.ready {
				t.Errorf("sorted wrongly: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "read card card_1: GET /cards/card_1 answered ") || strings.Contains(err.Error(), "attempts") != (got.Attempts > 1) || !strings.Contains(err.Error(), test.code) || !strings.Contains(err.Error(), test.message) {
				t.Errorf("%q", err)
			}
		})
	}
}

func TestResponsesAreBounded(t *testing.T) {
	t.Parallel()
	huge := func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range 9 {
			_, _ = w.Write(chunk)
		}
		_, _ = w.Write([]byte(cardBody))
	}
	_, err := newClient(t, http.HandlerFunc(huge), func(c *api.Config) { c.MaxRetries = 0 }).GetCard(t.Context(), "card_1")
	if err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("%v", err)
	}
}
