package card_test

import (
	"testing"
)

// A card whose owner was never recorded may be another account's, so a 404 does
// not prove that it is gone.
func TestMissingCardOfNoRecordedAccountStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fault(f.s, "GET", "/wallet/deposit-address", "before", 0, refusal(400, "invalid_request", "not today"))
	f.succeed(f.tryApply(object{"amount": 60}))
	f.s.Delete("/_sandbox/faults").Must()
	fault(f.s, "GET", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))
	fault(f.s, "DELETE", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))

	kept, diags := f.protocol().Refresh(f.card)
	f.says("the refresh", diags.Errors(), f.id(), "404", "Nothing was changed")
	f.same("the state", f.card.Values, kept.Values)
	destruction, diags := f.plan(nil)
	f.succeed(diags)
	kept, diags = f.protocol().Apply(destruction, nil)
	f.says("the destruction", diags.Errors(), f.id(), "404", "Nothing was changed")
	f.same("the state", f.card.Values, kept.Values)
}

// The first read after an import records the owner, so that the card can be
// known to be gone later.
func TestMissingCardThatWasImportedIsRemoved(t *testing.T) {
	t.Parallel()
	f := imported(t, map[string]any{"amount": 60})
	f.s.Terminate(f.id())
	f.s.Advance("1h")
	fault(f.s, "GET", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))
	gone, diags := f.protocol().Refresh(f.card)
	f.succeed(diags)
	f.says("the warning", diags.Warnings(), f.id(), "removed from the state")
	if gone.Values != nil {
		t.Errorf("the card is still in the state: %v", gone.Values)
	}
}
