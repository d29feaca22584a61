package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// purchase is a form that buys for 40.00 of the 500.00 on a card.
func purchase(t testing.TB) (s *sandboxtest.Server, b *browser, path string, buy url.Values) {
	t.Helper()
	s, b = start(t)
	path = "/cards/" + s.Issue("500")
	return s, b, path, b.form(path, "action", "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311")
}

// bought fails the test unless there are so many purchases.
func bought(s *sandboxtest.Server, want int) {
	s.T.Helper()
	equal(s.T, "transactions", len(s.Get("/transactions").Data()), want)
}

// A form that is sent again does nothing again, whatever sends it: a second click, a
// reload, or the way back to its page. What is remembered of forms is bounded.
func TestAFormIsDoneOnce(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	const done, again = "Authorized: 40.00 USD", "It was not done again."
	b.send(http.MethodPost, path, buy).has(done)
	b.send(http.MethodPost, path, buy).has(again).lacks(done)
	bought(s, 1)
	buy.Set("amount", "41") // other forms of the same page are theirs
	b.send(http.MethodPost, path, buy).has("Authorized: 41.00 USD")
	b.post(path, "buy", "amount", "40", "merchant", "Example Ads", "mcc", "7311").has(done)
	b.send(http.MethodPost, "/cards/"+s.Issue("500"), buy).has("Authorized: 41.00 USD") // and so are those of other pages
	buy.Set("amount", "40")
	b.send(http.MethodPost, path, buy).has(again) // whatever was sent since
	bought(s, 4)
	others := b.form("/requests", "action", "forget")
	for i := range 32 {
		others.Set("other", strconv.Itoa(i))
		b.send(http.MethodPost, "/requests", others).has("The requests are forgotten.")
	}
	b.send(http.MethodPost, path, buy).has(done)

	refused := b.form(path, "action", "buy", "amount", "1000", "merchant", "", "mcc", "7311")
	b.send(http.MethodPost, path, refused).is(400)
	b.send(http.MethodPost, path, refused).is(400)

	create := b.form("/world", "action", "create-account", "state", "ready", "initial_balance", "7")
	key := b.send(http.MethodPost, "/world", create).find(`sk_live_\w+`)
	equal(t, "the key that a reload shows", b.send(http.MethodPost, "/world", create).find(`sk_live_\w+`), key)
	equal(t, "accounts", s.Get("/_sandbox/accounts").OK(200).Text("total"), "2")
}

// What was done is said on the page that follows, once, and not to one that only looks
// for news; to who only sees the response to a second press, too, on the very part of
// the page.
func TestNoticeIsSaidOnce(t *testing.T) {
	t.Parallel()
	_, b, path, buy := purchase(t)
	path += "?page=1"
	const done = "Authorized: 40.00 USD"
	follow := b.client.CheckRedirect
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	led := b.send(http.MethodPost, path, buy).is(303)
	equal(t, "the page that follows", led.Header.Get("Location"), path)
	b.client.CheckRedirect = follow
	b.header = http.Header{"X-Dashboard-Live": {"1"}}
	b.get(path).lacks(done)
	b.header = http.Header{}
	second := b.send(http.MethodPost, path, buy).has(done).lacks("not done again")
	equal(t, "the page of the second press", second.Request.URL.RequestURI(), path)
	b.get(path).lacks(done)
}

// A press that is given up by a second one is done all the same, once, and the second
// one waits for it.
func TestAPressThatWasGivenUp(t *testing.T) {
	t.Parallel()
	s, b, path, buy := purchase(t)
	run := execute(t, s)
	run("BEGIN IMMEDIATE") // nothing is written meanwhile
	ctx, giveUp := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer giveUp()
	first := must(http.NewRequestWithContext(ctx, http.MethodPost, b.root+path, strings.NewReader(buy.Encode())))
	first.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.root}}
	if response, err := b.client.Do(first); err == nil {
		_ = response.Body.Close()
		t.Fatalf("answered %d", response.StatusCode)
	}
	second := make(chan seen, 1)
	go func() { second <- b.send(http.MethodPost, path, buy) }()
	select {
	case got := <-second:
		t.Fatalf("answered %d while nothing can be written", got.StatusCode)
	case <-time.After(200 * time.Millisecond):
	}
	run("ROLLBACK")
	(<-second).is(200).has("460.00")
	bought(s, 1)
}
