package sandbox_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const dollar = usd.Dollar

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
