package api_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
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
	} {
		for _, status := range []int{200, 400} {
			client := newClient(t, respond(status, body), func(c *api.Config) { c.MaxRetries = 0 })
			for call, do := range map[string]func() error{
				"cards":        func() error { _, err := client.ListCards(t.Context(), api.CardFilter{}, api.Page{}); return err },
				"card":         func() error { _, err := client.GetCard(t.Context(), "card_1"); return err },
				"bins":         func() error { return readBins(t, client) },
				"transactions": func() error { return lastError(client.Transactions(t.Context(), api.TransactionFilter{})) },
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				err := do()
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || len(err.Error()) > 2000 || took > 30*time.Second || allocated > 200 {
					t.Errorf("%s of %s with %d took %s and %d MiB: %.300v", call, name, status, took, allocated, err)
				}
			}
		}
	}
}

func lastError[T any](all func(func(T, error) bool)) (last error) {
	all(func(_ T, err error) bool { last = err; return true })
	return last
}

// A list that never ends is refused in words, with or without a total.
func TestEndlessLists(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]string{"without a total": "", "with a total that grows": `,"total":%d00`, "with a huge total": `,"total":999999999999`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pages := 0
			client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				pages++
				told := total
				if strings.Contains(told, "%d") {
					told = fmt.Sprintf(told, pages+1)
				}
				card := strings.Replace(cardBody, "card_1", fmt.Sprintf("card_%d", pages), 1)
				_, _ = fmt.Fprintf(w, `{"data":[%s],"page":%d,"per_page":1%s}`, card, pages, told)
			}))
			err := lastError(client.Cards(t.Context(), api.CardFilter{}))
			if err == nil || !strings.Contains(err.Error(), "no end") || pages > 1100 {
				t.Errorf("after %d pages: %v", pages, err)
			}
		})
	}
	t.Run("transactions", func(t *testing.T) {
		t.Parallel()
		ids := make(chan int)
		go func() {
			for i := 0; t.Context().Err() == nil; i++ {
				select {
				case ids <- i:
				case <-t.Context().Done():
				}
			}
		}()
		client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := <-ids
			if r.URL.Query().Get("page") == "1" {
				id = 0
			}
			_, _ = fmt.Fprintf(w, `{"data":[{"id":"txn_%d","type":"settlement","amount":1}]}`, id)
		}))
		err := lastError(client.Transactions(context.Background(), api.TransactionFilter{}))
		if err == nil || !strings.Contains(err.Error(), "no end") {
			t.Error(err)
		}
	})
}
