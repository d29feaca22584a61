package card_test

import (
	"testing"
)

// A card whose owner was never recorded may be another account's, so a 404 does
// not prove that it is gone.
func TestMissingCardOfNoRecordedAccountStays(t *testing.T) {
	t.Parallel()
	l := newLive(t)
	fault(l.s, "GET", "/wallet/deposit-address", "before", 0, refusal(400, "invalid_request", "not today"))
	l.succeed(l.tryApply(object{"amount": 60}))
	l.s.Delete("/_sandbox/faults").Must()
	fault(l.s, "GET", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))
	fault(l.s, "DELETE", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))

	kept, diags := l.protocol().Refresh(l.card)
	l.says("the refresh", diags.Errors(), l.id(), "404", "Nothing was changed")
	l.same("the state", l.card.Values, kept.Values)
	destruction, diags := l.plan(nil)
	l.succeed(diags)
	kept, diags = l.protocol().Apply(destruction, nil)
	l.says("the destruction", diags.Errors(), l.id(), "404", "Nothing was changed")
	l.same("the state", l.card.Values, kept.Values)
}

// The first read after an import records the owner, so that the card can be
// known to be gone later.
func TestMissingCardThatWasImportedIsRemoved(t *testing.T) {
	t.Parallel()
	l := imported(t, map[string]any{"amount": 60})
	l.s.Terminate(l.id())
	l.s.Advance("1h")
	fault(l.s, "GET", "/cards/*", "before", 0, refusal(404, "not_found", "no such card"))
	gone, diags := l.protocol().Refresh(l.card)
	l.succeed(diags)
	l.says("the warning", diags.Warnings(), l.id(), "removed from the state")
	if gone.Values != nil {
		t.Errorf("the card is still in the state: %v", gone.Values)
	}
}
