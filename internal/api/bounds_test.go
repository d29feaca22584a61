package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

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
		"with a huge total":       {"cards", func(n int) string { return card(n, `,"total":999999999999`) }},
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
