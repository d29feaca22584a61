package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Which card of a list is the one that was asked for.
func TestIdentify(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limit, higher := 500*dollar, 501*dollar
	wanted := reconcile.Wanted{BIN: "bin_1", Label: "ads  eu", Load: 100 * dollar, Limit: &limit, AskedAt: asked}
	unique := wanted
	unique.Unique = true
	unlimited := wanted
	unlimited.Limit = nil
	anytime := wanted
	anytime.AskedAt = time.Time{}
	card := func(id string, early time.Duration) reconcile.Listed {
		return reconcile.Listed{ID: id, BIN: "BIN_1", Label: "ads eu ", Balance: 100 * dollar, Limit: limit, CreatedAt: asked.Add(-early)}
	}
	clamped, dateless := card("card_3", 0), card("card_4", 0)
	clamped.Limit, dateless.CreatedAt = limit-1, time.Time{}
	for name, test := range map[string]struct {
		wanted        reconcile.Wanted
		alike         []reconcile.Listed
		equal, others int
		found         string
		verdict       reconcile.Verdict
		reason        string
	}{
		"none":                         {wanted: wanted, verdict: reconcile.Send},
		"one":                          {wanted: wanted, alike: []reconcile.Listed{card("card_1", 0)}, found: "card_1", verdict: reconcile.Made},
		"two":                          {wanted: wanted, alike: []reconcile.Listed{card("card_2", 0), card("card_1", 0)}, reason: "2 new cards"},
		"two, and both were asked for": {wanted: wanted, alike: []reconcile.Listed{card("card_2", 0), card("card_1", 0)}, equal: 1, found: "card_1", verdict: reconcile.Made},
		"one, or another's":            {wanted: wanted, alike: []reconcile.Listed{card("card_1", 0)}, others: 1, reason: "other properties"},
		"at the same moment":           {wanted: wanted, alike: []reconcile.Listed{card("card_1", 10*time.Second)}, found: "card_1", verdict: reconcile.Made},
		"too old":                      {wanted: wanted, alike: []reconcile.Listed{card("card_1", 200*time.Second)}, reason: "3m20s before"},
		"too old by a moment":          {wanted: wanted, alike: []reconcile.Listed{card("card_1", 10*time.Second+1)}, reason: "before"},
		"of another day, or a clock":   {wanted: wanted, alike: []reconcile.Listed{card("card_1", 48*time.Hour)}, reason: "48h0m0s before"},
		"asked for at no known time":   {wanted: anytime, alike: []reconcile.Listed{card("card_1", 240*time.Hour)}, found: "card_1", verdict: reconcile.Made},
		"issued at no known time":      {wanted: wanted, alike: []reconcile.Listed{dateless}, found: "card_4", verdict: reconcile.Made},
		"another limit":                {wanted: wanted, alike: []reconcile.Listed{clamped}, reason: "spending limit"},
		"no limit was asked for":       {wanted: unlimited, alike: []reconcile.Listed{clamped}, found: "card_3", verdict: reconcile.Made},
		"a label of its own":           {wanted: unique, alike: []reconcile.Listed{{ID: "card_5", CreatedAt: asked.Add(-240 * time.Hour)}}, found: "card_5", verdict: reconcile.Made},
	} {
		found, verdict, reason := test.wanted.Identify(test.alike, test.equal, test.others)
		if found.ID != test.found || verdict != test.verdict || !strings.Contains(reason, test.reason) || (reason == "") != (test.reason == "") {
			t.Errorf("%s: %q, %d, %q, want %q, %d, %q", name, found.ID, verdict, reason, test.found, test.verdict, test.reason)
		}
	}
	like := card("card_1", 0)
	for name, test := range map[string]struct {
		change func(*reconcile.Listed)
		want   bool
		unique bool
	}{
		"the same":        {func(*reconcile.Listed) {}, true, true},
		"another label":   {func(c *reconcile.Listed) { c.Label = "ads us" }, false, false},
		"another BIN":     {func(c *reconcile.Listed) { c.BIN = "bin_2" }, false, false},
		"no BIN":          {func(c *reconcile.Listed) { c.BIN = "" }, true, true},
		"another balance": {func(c *reconcile.Listed) { c.Balance-- }, false, true},
		"a clamped limit": {func(c *reconcile.Listed) { c.Limit-- }, true, true},
		"a higher limit":  {func(c *reconcile.Listed) { c.Limit = higher }, false, true},
	} {
		c := like
		test.change(&c)
		if wanted.IsLike(c) != test.want || unique.IsLike(c) != test.unique {
			t.Errorf("%s: %t, and with a label of its own %t", name, wanted.IsLike(c), unique.IsLike(c))
		}
	}
	both := []reconcile.Listed{clamped, like}
	if best := wanted.BestMatches(both); len(best) != 1 || best[0].ID != "card_1" {
		t.Errorf("the best are %+v", best)
	}
	if best := wanted.BestMatches(both[:1]); len(best) != 1 || len(both) != 2 || both[0].ID != "card_3" {
		t.Errorf("the best are %+v of %+v", best, both)
	}
	wanted.Limit = (*usd.Amount)(nil)
	if best := wanted.BestMatches(both); len(best) != 2 || !wanted.IsLike(clamped) {
		t.Errorf("without a limit the best are %+v", best)
	}
}
