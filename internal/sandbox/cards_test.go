package sandbox_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// What modeltest's clients never send: null, an exponent, and as much as is taken; one
// more of anything is refused.
func TestIssueCard(t *testing.T) {
	t.Parallel()
	s := start(t)
	label, metadata := strings.Repeat("ü", 64), map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprintf("%0512d", i)] = strings.Repeat("ü", 512)
	}
	most, err := json.Marshal(map[string]any{"bin_id": "bin_general_visa_eu", "amount": 50, "label": label, "metadata": metadata})
	if err != nil {
		t.Fatal(err)
	}
	card := s.Post("/cards", string(most)).OK(201)
	if kept, _ := card.Body["metadata"].(map[string]any); card.Text("label") != label || len(kept) != len(metadata) {
		t.Errorf("kept %s", card.Raw)
	}
	s.play(s.populate(), `
		POST /cards {BIN,"amount":1e2,"label":null,"auto_freeze_at":null} → 201 "balance":100.00 & "label":"" & "auto_freeze_at":null
		POST /cards/LAST/withdraw {} → 200 "card_balance":0.00`)
	for _, bin := range s.Get("/bins").OK(200).Data() {
		s.Post("/cards", map[string]any{"bin_id": bin["id"], "amount": 50}).OK(201)
	}
	if cached := s.Get("/cards/" + card.Text("id") + "/details").OK(200).Header.Get("Cache-Control"); cached != "no-store" {
		t.Errorf("details are for caches: %q", cached)
	}
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
	s.Balanced()
}
