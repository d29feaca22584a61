package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Which card of a list is the one that was asked for.
func TestIdentify(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limit, higher := 500*usd.Dollar, 501*usd.Dollar
	wanted := IssueCardRequest{BinID: "bin_1", Label: "ads  eu, spring campaign", Amount: 100 * usd.Dollar, SpendingLimit: &limit}
	unique, unlimited := wanted, wanted
	unique.GeneratedLabel, unlimited.SpendingLimit = true, nil
	card := func(id string, early time.Duration) CardSummary {
		item := CardListItem{ID: id, BinID: "BIN_1", Label: "ads eu, spring campaign ", Balance: 100 * usd.Dollar, SpendingLimit: limit}
		return CardSummary{item, Timestamp(asked.Add(-early).Format(time.RFC3339Nano))}
	}
	clamped, dateless, own, cut := card("card_3", 0), card("card_4", 0), card("card_5", 240*time.Hour), card("card_6", 0)
	cut.Label = "Ads EU, spring campa"
	clamped.SpendingLimit, dateless.CreatedAt, own.SpendingLimit = limit-1, "", 0
	for name, test := range map[string]struct {
		wanted        IssueCardRequest
		anytime       bool
		alike         []CardSummary
		equal, others int
		found         string
		state         outcomeState
		reason        string
	}{
		"none":                         {wanted: wanted, state: notApplied},
		"one":                          {wanted: wanted, alike: []CardSummary{card("card_1", 0)}, found: "card_1", state: applied},
		"two":                          {wanted: wanted, alike: []CardSummary{card("card_2", 0), card("card_1", 0)}, reason: "2 new cards"},
		"two, and both were asked for": {wanted: wanted, alike: []CardSummary{card("card_2", 0), card("card_1", 0)}, equal: 1, found: "card_1", state: applied},
		"one, or another's":            {wanted: wanted, alike: []CardSummary{card("card_1", 0)}, others: 1, reason: "other properties"},
		"at the same moment":           {wanted: wanted, alike: []CardSummary{card("card_1", 10*time.Second)}, found: "card_1", state: applied},
		"too old":                      {wanted: wanted, alike: []CardSummary{card("card_1", 200*time.Second)}, reason: "3m20s before"},
		"too old by a moment":          {wanted: wanted, alike: []CardSummary{card("card_1", 10*time.Second+1)}, reason: "before"},
		"of another day, or a clock":   {wanted: wanted, alike: []CardSummary{card("card_1", 48*time.Hour)}, reason: "48h0m0s before"},
		"asked for at no known time":   {wanted: wanted, anytime: true, alike: []CardSummary{card("card_1", 240*time.Hour)}, found: "card_1", state: applied},
		"issued at no known time":      {wanted: wanted, alike: []CardSummary{dateless}, found: "card_4", state: applied},
		"another limit":                {wanted: wanted, alike: []CardSummary{clamped}, reason: "spending limit"},
		"a label in other letters":     {wanted: wanted, alike: []CardSummary{cut}, reason: "has the label"},
		"no limit was asked for":       {wanted: unlimited, alike: []CardSummary{clamped}, found: "card_3", state: applied},
		"a label of its own":           {wanted: unique, alike: []CardSummary{own}, found: "card_5", state: applied},
	} {
		askedAt := map[bool]time.Time{false: asked, true: {}}[test.anytime]
		found, how := test.wanted.identify(test.alike, askedAt, test.equal, test.others)
		if found.ID != test.found || how.state != test.state || !strings.Contains(fmt.Sprint(how.reason), test.reason) || (how.reason == nil) != (test.reason == "") {
			t.Errorf("%s: %q, %d, %v, want %q, %d, %q", name, found.ID, how.state, how.reason, test.found, test.state, test.reason)
		}
	}
	like := card("card_1", 0).CardListItem
	for name, test := range map[string]struct {
		change func(*CardListItem)
		want   bool
		unique bool
	}{
		"the same":        {func(*CardListItem) {}, true, true},
		"another label":   {func(c *CardListItem) { c.Label = "ads us" }, false, false},
		"a cut label":     {func(c *CardListItem) { c.Label = cut.Label }, false, true},
		"other letters":   {func(c *CardListItem) { c.Label = strings.ToUpper(c.Label) }, true, true},
		"its beginning":   {func(c *CardListItem) { c.Label = cut.Label[:19] }, false, false},
		"another BIN":     {func(c *CardListItem) { c.BinID = "bin_2" }, false, false},
		"no BIN":          {func(c *CardListItem) { c.BinID = "" }, true, true},
		"another balance": {func(c *CardListItem) { c.Balance-- }, false, true},
		"a clamped limit": {func(c *CardListItem) { c.SpendingLimit-- }, true, true},
		"a higher limit":  {func(c *CardListItem) { c.SpendingLimit = higher }, true, true},
	} {
		c := like
		test.change(&c)
		if wanted.isLike(c) != test.want || unique.isLike(c) != test.unique {
			t.Errorf("%s: %t, and with a label of its own %t", name, wanted.isLike(c), unique.isLike(c))
		}
	}
	both := []CardListItem{clamped.CardListItem, like}
	if best := wanted.bestMatches(both); len(best) != 1 || best[0].ID != "card_1" {
		t.Errorf("the best are %+v", best)
	}
	if best := wanted.bestMatches([]CardListItem{cut.CardListItem, clamped.CardListItem}); len(best) != 1 || best[0].ID != "card_3" {
		t.Errorf("the best are %+v", best)
	}
	if best := wanted.bestMatches(both[:1]); len(best) != 1 || len(both) != 2 || both[0].ID != "card_3" {
		t.Errorf("the best are %+v of %+v", best, both)
	}
	wanted.SpendingLimit = nil
	if best := wanted.bestMatches(both); len(best) != 2 || !wanted.isLike(clamped.CardListItem) {
		t.Errorf("without a limit the best are %+v", best)
	}
}
