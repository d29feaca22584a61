package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestIssueCard(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	card := s.Post("/api/v1/cards", `{"bin_id":"bin_ads_mastercard_eu","amount":1e2,"label":"Käufe","spending_limit":500.5,
		"allowed_categories":["software","advertising","software"],"auto_freeze_at":10,
		"metadata":{"team":"ads","n":7,"on":true}}`).OK(http.StatusCreated)
	fields(t, card.Body, "id", "bin_id", "network", "last4", "status", "balance", "spending_limit", "label",
		"allowed_categories", "auto_freeze_at", "metadata", "created_at", "expires_at")
	for field, want := range map[string]string{
		"bin_id": "bin_ads_mastercard_eu", "network": "mastercard", "status": "active", "balance": "100.00",
		"spending_limit": "500.50", "label": "Käufe", "auto_freeze_at": "10.00",
		"created_at": "2026-03-15T12:00:00.000Z", "expires_at": "2029-03-31",
	} {
		if got := card.Text(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if got := fmt.Sprint(card.Body["allowed_categories"]); got != "[software advertising]" {
		t.Errorf("allowed_categories is %s", got)
	}
	if got := fmt.Sprint(card.Body["metadata"]); got != "map[n:7 on:true team:ads]" {
		t.Errorf("metadata is %s", got)
	}
	if !strings.HasPrefix(card.Text("id"), "card_") || len(card.Text("last4")) != 4 {
		t.Errorf("id or last4 of the wrong form: %s", card.Raw)
	}
	if got := s.Wallet().String(); got != "9899.00" {
		t.Errorf("the wallet holds %s after a load of 100 and a fee of 1", got)
	}
	if moved := s.Post("/cards/"+card.Text("id")+"/withdraw", `{}`).OK(http.StatusOK); moved.Text("card_balance") != "0.00" {
		t.Errorf("a withdrawal of no amount left %s", moved.Raw)
	}
	s.Balanced()
}

func TestIssueCardDefaults(t *testing.T) {
	t.Parallel()
	s := start(t)
	card := s.Post("/api/v1/cards", `{"bin_id":"bin_general_visa_eu","amount":50,"label":null,"auto_freeze_at":null}`).OK(201)
	if got := card.Text("spending_limit"); got != "5000.00" {
		t.Errorf("spending_limit is %s, want the BIN's maximum", got)
	}
	for _, part := range []string{`"label":""`, `"allowed_categories":[]`, `"auto_freeze_at":null`, `"metadata":{}`} {
		if !strings.Contains(card.Raw, part) {
			t.Errorf("%s is missing in %s", part, card.Raw)
		}
	}
}

// One more of anything is refused.
func TestIssueCardWithTheMost(t *testing.T) {
	t.Parallel()
	s := start(t)
	label, metadata := strings.Repeat("ü", 64), map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("%0512d", i)] = strings.Repeat("ü", 512)
	}
	body, err := json.Marshal(map[string]any{"bin_id": "bin_general_visa_eu", "amount": json.Number("50"), "label": label, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	card := s.Post("/api/v1/cards", string(body)).OK(201)
	if kept, _ := card.Body["metadata"].(map[string]any); card.Text("label") != label || len(kept) != len(metadata) {
		t.Errorf("kept %s", card.Raw)
	}
}

func TestCardRepresentations(t *testing.T) {
	t.Parallel()
	s := start(t, stopped)
	id := s.Issue("50", `"label":"one"`)
	item := []string{"id", "bin_id", "network", "last4", "status", "balance", "spending_limit", "label"}
	summary := s.Get("/api/v1/cards/" + id).OK(200)
	fields(t, summary.Body, append(item, "created_at")...)
	fields(t, s.Get("/api/v1/cards").OK(200).Data()[0], item...)

	details := s.Get("/api/v1/cards/" + id + "/details").OK(200)
	fields(t, details.Body, "id", "pan", "cvv", "exp_month", "exp_year")
	if cached := details.Header.Get("Cache-Control"); cached != "no-store" {
		t.Errorf("details are for caches: %q", cached)
	}
	pan := details.Text("pan")
	if len(pan) != 16 || pan[0] != '0' || !luhn(pan) || pan[12:] != summary.Text("last4") {
		t.Errorf("the number is not 16 digits from 0, Luhn-valid, ending in %s", summary.Text("last4"))
	}
	if len(details.Text("cvv")) != 3 {
		t.Error("the code does not have three digits")
	}
	if got := details.Text("exp_month") + "/" + details.Text("exp_year"); got != "3/2029" {
		t.Errorf("expires %s, want 3/2029", got)
	}
	if again := s.Get("/api/v1/cards/" + id + "/details"); again.Raw != details.Raw {
		t.Error("details changed")
	}
}

func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}

func TestCategories(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	codes := map[string][]string{
		"advertising": {"7311"}, "software": {"5734", "7372", "5817", "5818"}, "travel": {"3000", "3999", "4511", "7011"},
		"retail": {"5311", "5651", "5732", "5735"}, "food": {"5411", "5812"}, "entertainment": {"5816", "7832", "7999"},
		"utilities": {"4900"}, "telecom": {"4814"}, "education": {"8220"}, "health": {"8099", "5912"}, "transport": {"4121", "5541"},
		"finance": {"6011", "6300"}, "government": {"9311"}, "other": {"0000", "0763", "9999", "5599", "4000", "6541"},
	}
	for category := range codes {
		card := s.Issue("50", `"allowed_categories":["`+category+`"]`)
		for other, merchants := range codes {
			for _, mcc := range merchants {
				if accepted := s.Authorize(card, "0.01", mcc).OK(201).Body["decline_reason"] == nil; accepted != (category == other) {
					t.Errorf("a card for %s at a merchant of %s (%s): accepted %v", category, other, mcc, accepted)
				}
			}
		}
	}
	unlimited := s.Issue("50")
	for _, merchants := range codes {
		for _, mcc := range merchants {
			if a := s.Authorize(unlimited, "0.01", mcc).OK(201); a.Body["decline_reason"] != nil {
				t.Errorf("a card for everything at %s: %s", mcc, a.Raw)
			}
		}
	}
	s.Balanced()
}
