package api

import (
	"slices"
	"testing"
)

// Only the service's own words tell that nothing was done.
func TestMeaningOfResponses(t *testing.T) {
	t.Parallel()
	names := map[meaning]string{0: "unknown", done: "done", notSent: "not sent", rateLimited: "rate limited", refused: "refused", keyRefused: "key refused"}
	for want, responses := range map[meaning][]struct {
		statuses []int
		codes    []string
	}{
		done: {{[]int{200, 201, 202, 204, 299}, []string{"", "insufficient_funds"}}},
		unknown: {
			{[]int{0, 100, 199, 300, 302, 307, 399, 408, 500, 502, 503, 504, 599}, []string{"", "internal", "insufficient_funds", "idempotency_key_reused"}},
			{[]int{400, 401, 402, 403, 404, 405, 409, 410, 413, 422, 425, 429, 451, 499}, []string{""}},
			{[]int{409}, []string{"Conflict", "conflict", "request_in_progress", "card_state_conflict"}},
			{[]int{400, 409, 422, 425}, []string{"idempotency_key_in_use", "request_in_flight", "still_processing", "CONCURRENT_request"}},
		},
		rateLimited: {{[]int{429}, []string{"rate_limited", "too_many_requests", "idempotency_key_reused"}}},
		refused: {
			{[]int{400, 402, 409, 422}, []string{"insufficient_funds", "insufficient_card_balance", "card_frozen", "card_already_frozen", "card_terminated", "card_already_terminated", "Bin_Not_Found", "invalid_request", "invalid_idempotency_key", "duplicate_label"}},
			{[]int{400, 401, 402, 403, 404, 410, 422}, []string{"planned", "unauthorized", "not_found", "request_not_processed", "merchant_blocked", "limit_exceeded", "onboarding_incomplete"}},
		},
		keyRefused: {{[]int{400, 403, 409, 422}, []string{"idempotency_key_reused", "idempotency_error", "duplicate_request", "already_processed", "already_funded", "key_reused"}}},
	} {
		for _, response := range responses {
			for _, status := range response.statuses {
				for _, code := range response.codes {
					if got := meaningOf(status, code); got != want {
						t.Errorf("%d %q means %q, want %q", status, code, names[got], names[want])
					}
				}
			}
		}
	}
}

// What decides about money is unknown or undecided until it is told.
func TestZeroValuesAreSafe(t *testing.T) {
	t.Parallel()
	var f failure
	var o outcome
	if f.meaning != unknown || slices.Contains([]outcomeState{notApplied, applied, rejected}, o.state) {
		t.Errorf("%+v, %+v", f, o)
	}
}
