package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Every endpoint of a sandbox is called over real HTTP, and every exchange checked
// against the wire contract. What is read is compared in text, so that each field counts.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Path, o.InitialBalance = ":memory:", 1000*usd.Dollar
		o.Wrap = func(service http.Handler) http.Handler { return contract.Handler(t, service) }
	})
	s.Quirks(nil)
	client := newClient(t, nil, func(c *api.Config) {
		c.BaseURL, c.APIKey, c.Clock, c.RequestTimeout = s.URL, transport.Secret(s.Key), nil, 0
	})
	read := func(name string, got any, err error, want string) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, got, want)
	}
	bins, err := client.Bins(ctx)
	if err != nil || len(bins) != 9 || len(bins[0].Wallets) != 2 || bins[0].Network.Raw() == "" || bins[0].Category.Raw() == "" {
		t.Fatalf("BINs %+v, %v", bins, err)
	}
	limit, threshold := 400*usd.Dollar, 10*usd.Dollar
	issuance, err := client.IssueCard(ctx, api.IssueCardRequest{
		BinID: bins[0].ID, Amount: 75*usd.Dollar + 25*usd.Cent, Label: "campaign", SpendingLimit: &limit, AutoFreezeAt: &threshold,
		AllowedCategories: []string{"advertising"}, Metadata: map[string]string{"team": "growth"},
	})
	if err != nil {
		t.Fatalf("issued %+v, %v", issuance, err)
	}
	card := issuance.Card
	read("the properties", []any{card.Balance, card.SpendingLimit, issuance.How == api.Answered}, nil, "[75.25 400.00 true]")
	if card.ExpiresAt == "" || card.CreatedAt == "" {
		t.Errorf("issued %+v", card)
	}
	summary, err := client.GetCard(ctx, card.ID)
	read("the summary", summary, err, fmt.Sprintf("%+v", card.CardSummary))
	plain, err := client.IssueCard(ctx, api.IssueCardRequest{BinID: bins[1].ID, Amount: 50 * usd.Dollar})
	read("without properties", plain.Card.SpendingLimit > 0, err, "true")
	page, err := client.ListCards(ctx, api.CardFilter{}, 2, 1)
	read("the second page", []any{page.Page, page.PerPage, *page.Total, page.Data}, err, fmt.Sprintf("[2 1 2 [%+v]]", card.CardListItem))
	same(t, "the filtered cards", listed(t, client, api.CardFilter{Status: api.StatusActive, BinID: bins[1].ID}), "["+plain.Card.ID+"]")
	details, err := client.CardDetails(ctx, card.ID)
	isOfCard := len(details.PAN) >= 13 && strings.HasSuffix(details.PAN.Reveal(), card.Last4.Raw())
	read("the details", []any{isOfCard, len(details.CVV), details.ExpMonth > 0, details.ExpYear > 2000}, err, "[true 3 true true]")

	for _, test := range []struct {
		delta usd.Amount
		want  string
	}{
		{20 * usd.Dollar, "moved, 95.25 on the active card, 852.75 in the wallet"},
		{-95 * usd.Dollar, "moved, 0.25 on the frozen card, 947.75 in the wallet"}, // which crosses auto_freeze_at
	} {
		moved, err := mover(client).Move(ctx, card.ID, by(test.delta), nil)
		got := fmt.Sprintf("%s, %s on the %s card, %s in the wallet", told(moved, err), moved.CardBalance, moved.CardStatus, moved.WalletBalance)
		read("the movement", got, err, test.want)
	}
	unfrozen, err := client.UnfreezeCard(ctx, card.ID, nil)
	read("unfrozen", unfrozen, err, "{ID:"+card.ID+" Status:active Balance:0.25 How:0}")
	frozen, err := client.FreezeCard(ctx, card.ID)
	read("frozen", frozen, err, "{ID:"+card.ID+" Status:frozen Balance:0.25 How:0}")
	for _, want := range []string{fmt.Sprintf("ReturnedToWallet:0.25 How:%d", api.Answered), fmt.Sprintf("ReturnedToWallet:0.00 How:%d", api.AlreadyDone)} {
		termination, err := client.TerminateCard(ctx, card.ID)
		read("terminated", termination, err, "{ID:"+card.ID+" Status:terminated "+want+"}")
	}
	if _, err := client.GetCard(ctx, "card_unknown"); !transport.IsNotFound(err) {
		t.Errorf("an unknown card: %v", err)
	}

	wallet, err := client.WalletBalance(ctx)
	read("the wallet", []any{wallet.Balance, wallet.Currency, wallet.PendingDeposits, *wallet.CardsActive, wallet.CardsTotalBalance}, err, "[948.00 USDT 0.00 1 50.00]")
	all, err := client.DepositAddresses(ctx, "")
	one, failed := client.DepositAddresses(ctx, "usdt")
	if err != nil || failed != nil || len(all) != 10 || len(one) != 1 || one[0].Currency.Raw() != "usdt" || !slices.Contains(all, one[0]) {
		t.Errorf("addresses %+v and %+v, %v, %v", all, one, err, failed)
	}
	for _, status := range []string{"", "pending"} {
		challenges, err := client.Challenges(ctx, status)
		read("the challenges", challenges, err, "[]")
	}
	refunds := api.TransactionFilter{Type: api.TransactionRefund, From: time.Now().AddDate(0, -1, 0), To: time.Now()}
	for transaction, err := range client.Transactions(ctx, refunds) {
		t.Errorf("transaction %+v, %v", transaction, err)
	}
	for _, secret := range []transport.Secret{"", "whsec_of_my_own"} {
		got, err := client.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com/cards", Events: []string{"card.created"}, Secret: secret})
		isWhole := got.ID != "" && got.CreatedAt != "" && got.Secret != "" && (secret == "" || got.Secret == secret)
		read("the endpoint", []any{got.How.LostResponse(), isWhole}, err, "[false true]")
	}
}

func TestNewChecksAddressAndKey(t *testing.T) {
	t.Parallel()
	const good = "https://cards.example.com/api/v1"
	for name, test := range map[string]struct{ base, key, want string }{
		"https":                  {good, testKey, ""},
		"a slash at the end":     {good + "/", testKey, ""},
		"http to 127.0.0.1":      {"http://127.0.0.1:8420/api/v1", testKey, ""},
		"http to ::1":            {"http://[::1]:8420/api/v1", testKey, ""},
		"http to localhost":      {"http://localhost:65535/api/v1", testKey, ""},
		"http to LOCALHOST":      {"http://LOCALHOST:8420/api/v1", testKey, ""},
		"http to v4 in v6":       {"http://[::ffff:127.0.0.1]:8420/api/v1", testKey, ""},
		"http to elsewhere":      {"http://cards.example.com/api/v1", testKey, "unencrypted"},
		"http to a container":    {"http://sandbox:8420/api/v1", "sk_live_sandbox_0123456789", ""},
		"a key like a sandbox's": {"http://sandbox:8420/api/v1", "sk_live_sandboxes_0123456789", "unencrypted"},
		"http to a lookalike":    {"http://127.0.0.1.example.com/api/v1", testKey, "unencrypted"},
		"http to all addresses":  {"http://0.0.0.0/api/v1", testKey, "unencrypted"},
		"another scheme":         {"ftp://cards.example.com/api/v1", testKey, "https://"},
		"no scheme":              {"cards.example.com/api/v1", testKey, "https://"},
		"nothing":                {"", testKey, "https://"},
		"no version":             {"https://cards.example.com", testKey, "/api/v1"},
		"a user name":            {"https://me:pw@cards.example.com/api/v1", testKey, "user name"},
		"a key for a host":       {"https://" + testKey + "/api/v1", testKey, "API key"},
		"a key in the path":      {"http://localhost/" + testKey, testKey, "API key"},
		"a key":                  {testKey, testKey, "API key"},
		"a query":                {good + "?key=1", testKey, "query"},
		"an empty query":         {good + "?", testKey, "query"},
		"a fragment":             {good + "#v1", testKey, "fragment"},
		"no port":                {"http://localhost:/api/v1", testKey, ""},
		"port 0":                 {"http://localhost:0/api/v1", testKey, "a port between 1 and 65535"},
		"port 65536":             {"https://cards.example.com:65536/api/v1", testKey, "a port between 1 and 65535"},
		"no host":                {"https:///api/v1", testKey, "be an address"},
		"no address":             {"https://[::1/api/v1", testKey, "be an address"},
		"no key":                 {good, "", "sk_live_"},
		"another prefix":         {good, "pk_test_1234567", "sk_live_"},
		"only the prefix":        {good, "sk_live_", "sk_live_"},
		"a key of two lines":     {good, testKey + "\nX-Evil: 1", "line break"},
		"a key with a newline":   {good, testKey + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.New(api.Config{BaseURL: test.base, APIKey: transport.Secret(test.key)})
			broken, isConfig := errors.AsType[*transport.ConfigError](err)
			isSecret := isConfig && broken.Secret
			field := transport.FieldBaseURL
			if test.want == "sk_live_" || test.want == "line break" {
				field = transport.FieldAPIKey
			}
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want one about %q", err, test.want)
			case isSecret != slices.Contains([]string{"API key", "user name", "query", "fragment", "sk_live_", "line break"}, test.want):
				t.Errorf("error %v, which lets its value be shown: %t", err, !isSecret)
			case !strings.HasPrefix(err.Error(), "the "+field+" must "):
				t.Errorf("error %v names the wrong field", err)
			case len(test.key) > 10 && strings.Contains(err.Error(), strings.Fields(test.key)[0]) || strings.Contains(err.Error(), "pw"):
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestReadsAreRepeated(t *testing.T) {
	t.Parallel()
	good := respond(200, cardBody)
	type script = []http.HandlerFunc
	for name, test := range map[string]struct {
		steps  script
		tries  int
		status int // of the error; 0 for success, -1 for no response
	}{
		"at once":                    {steps: script{good}, tries: 1},
		"after a dropped response":   {steps: script{drop, good}, tries: 2},
		"after a truncated body":     {steps: script{truncate, good}, tries: 2},
		"not after a missing field":  {steps: script{respond(200, `{"id":"card_1","status":"active"}`)}, tries: 1, status: -1},
		"after another card":         {steps: script{respond(200, strings.Replace(cardBody, "card_1", "card_2", 1)), good}, tries: 2},
		"after 500, 502, 503":        {steps: script{respond(500, ""), respond(502, ""), respond(503, ""), good}, tries: 4},
		"after 408":                  {steps: script{respond(408, ""), good}, tries: 2},
		"as often as configured":     {steps: script{respond(500, "")}, tries: 5, status: 500},
		"a lost response for ever":   {steps: script{drop}, tries: 5, status: -1},
		"not after 401":              {steps: script{respond(401, "")}, tries: 1, status: 401},
		"not after 403":              {steps: script{respond(403, "")}, tries: 1, status: 403},
		"not after 404":              {steps: script{respond(404, `{"error":"not_found","message":""}`)}, tries: 1, status: 404},
		"after the 404 of a gateway": {steps: script{respond(404, "<html>nginx</html>"), good}, tries: 2},
		"after the 410 of a gateway": {steps: script{respond(410, ""), good}, tries: 2},
		"not after 410":              {steps: script{respond(410, `{"error":"gone","message":""}`)}, tries: 1, status: 410},
		"not after 409":              {steps: script{respond(409, "")}, tries: 1, status: 409},
		"not after a redirect":       {steps: script{respond(307, "", "Location", "/api/v1/cards/card_2")}, tries: 1, status: 307},
		"not after 300":              {steps: script{respond(300, cardBody)}, tries: 1, status: 300},
		"429 does not count":         {steps: append(slices.Repeat(script{respond(429, "")}, 12), good), tries: 13},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := steps(test.steps...)
			card, err := newClient(t, service).GetCard(t.Context(), "card_1")
			if got := len(service.requests()); got != test.tries {
				t.Errorf("%d tries, want %d", got, test.tries)
			}
			failed, isResponse := errors.AsType[*transport.Error](err)
			lost, isLost := errors.AsType[*transport.RequestError](err)
			switch {
			case test.status == 0:
				if err != nil || card.Balance != 50*usd.Dollar || card.Label.Raw() != "ads" {
					t.Errorf("card %+v, error %v", card, err)
				}
			case test.status > 0 && (!isResponse || failed.Status != test.status || failed.Attempts != test.tries):
				t.Errorf("error %v, want status %d", err, test.status)
			case test.status < 0 && (!isLost || !lost.Sent || lost.Attempts != test.tries):
				t.Errorf("error %v, want a lost response", err)
			}
		})
	}
}

// How the header is read is tested in ratelimit.
func TestRetryAfterIsFollowed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first         http.HandlerFunc
		atLeast, most time.Duration
	}{
		"429 as it says": {respond(429, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"429 without":    {respond(429, ""), 500 * time.Millisecond, time.Second},
		"503 as it says": {respond(503, "", "Retry-After", "17"), 17 * time.Second, 17 * time.Second},
		"503 and a day":  {respond(503, "", "Retry-After", "86400"), time.Minute, time.Minute},
		"429 and a year": {respond(429, "", "Retry-After", "31536000"), 500 * time.Millisecond, time.Second},
		"503 and a year": {respond(503, "", "Retry-After", "31536000"), 250 * time.Millisecond, 500 * time.Millisecond},
		"503 without":    {respond(503, ""), 250 * time.Millisecond, 500 * time.Millisecond},
	} {
		clock := newFakeClock()
		err := try(t.Context(), newClient(t, steps(test.first, respond(200, cardBody)), on(clock)), "read")
		if got := clock.total(); err != nil || got < test.atLeast || got > test.most {
			t.Errorf("%s: %v, waited %s, want %s to %s", name, err, got, test.atLeast, test.most)
		}
	}
}

func TestPauseThatOutlastsTheOperationEndsIt(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"read", "freeze"} {
		for pause, within := range map[time.Duration]time.Duration{2 * time.Hour: 3 * time.Hour, 10 * time.Minute: 5 * time.Minute} {
			service := steps(respond(429, `{"error":"rate_limited","message":"slow down"}`, "Retry-After", fmt.Sprint(pause.Seconds())))
			clock := newFakeClock()
			client, until := newClient(t, service, on(clock)), clock.Now().Add(pause)
			ctx, end := context.WithTimeout(t.Context(), within)
			err := try(ctx, client, call)
			if failed, ok := errors.AsType[*transport.Error](err); !ok || failed.Status != 429 || failed.Code != "rate_limited" ||
				!failed.RetryAt.Equal(until) {
				t.Errorf("%s: error %v", call, err)
			}
			if err := try(ctx, client, "wallet"); err == nil || !strings.Contains(err.Error(), "until "+until.Format(time.RFC3339)) {
				t.Errorf("another call during the pause: %v", err)
			}
			if n := len(service.requests()); n != 1 || clock.total() != 0 {
				t.Errorf("%s: %d requests, waited %s", call, n, clock.total())
			}
			end()
		}
	}
}

// A connection that is refused, or ends before TLS begins, is tried again as often as
// any, but for a read of a run that has changed nothing; one to a stranger is not.
func TestConnectionThatCannotBeMade(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1" // no other test is given this port
	stranger := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	stranger.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(stranger.Close)
	restarting := sandboxtest.Listen(t, func(connection net.Conn) { _ = connection.Close() })
	for name, test := range map[string]struct {
		address  string
		calls    []string
		attempts int
		says     string
	}{
		"read":                {nobody, []string{"wallet"}, 3, "connection refused"},
		"change":              {nobody, []string{"freeze"}, 5, "connection refused"},
		"read after a change": {nobody, []string{"freeze", "wallet"}, 5, "connection refused"},
		"broken handshake":    {"https://" + restarting.String(), []string{"freeze"}, 5, ""},
		"untrusted":           {stranger.URL, []string{"freeze"}, 1, "x509: certificate signed by unknown authority. To trust the certificate, add its authority"},
		"untrusted, secret":   {stranger.URL, []string{"details"}, 1, "x509: certificate signed by unknown authority. To trust the certificate, add its authority"},
	} {
		client := newClient(t, nil, func(c *api.Config) { c.BaseURL = test.address + "/api/v1" })
		var err error
		for _, call := range test.calls {
			err = try(t.Context(), client, call)
		}
		if lost, ok := errors.AsType[*transport.RequestError](err); !ok || lost.Sent || lost.Attempts != test.attempts ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Services differ in what API.md does not fix; none of it may matter.
func TestResponsesMayDiffer(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"plain numbers":  `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":50,"spending_limit":100.0,"label":"ads","created_at":"2026-03-01T12:00:00Z"}`,
		"strings":        `{"id":"card_1","bin_id":"bin_1","network":"visa","last4":"4242","status":"active","balance":"50.00","spending_limit":"1e2","label":"ads","created_at":"2026-03-01T12:00:00Z"}`,
		"capitals":       strings.Replace(cardBody, "active", "ACTIVE", 1),
		"other fields":   strings.Replace(cardBody, "}", `,"Balance":7,"ID":"card_2","ſtatus":"frozen"}`, 1),
		"a BOM":          "\ufeff" + cardBody,
		"unknown fields": strings.Replace(cardBody, "{", `{"balance_eur":1.234,"owner":{"a":[1]},`, 1),
	} {
		card, err := newClient(t, respond(200, body)).GetCard(t.Context(), "card_1")
		want := api.CardSummary{CreatedAt: "2026-03-01T12:00:00Z", CardListItem: api.CardListItem{
			ID: "card_1", BinID: "bin_1", Network: transport.NewWord("visa"), Last4: transport.NewWord("4242"), Status: "active", Balance: 50 * usd.Dollar, SpendingLimit: 100 * usd.Dollar, Label: asLabel("ads"),
		}}
		if err != nil || card != want {
			t.Errorf("%s: %+v, %v", name, card, err)
		}
	}
	t.Run("nulls and an unknown status", func(t *testing.T) {
		t.Parallel()
		body := `{"id":"card_1","bin_id":"bin_1","status":"sleeping","balance":0,"spending_limit":0,"label":null,"network":null}`
		card, err := newClient(t, respond(200, body)).GetCard(t.Context(), "card_1")
		if want := (api.CardListItem{ID: "card_1", BinID: "bin_1", Status: "sleeping"}); err != nil || card.CardListItem != want {
			t.Errorf("%+v, %v", card, err)
		}
	})
	for written, want := range map[string]transport.Timestamp{
		`"2026-03-01T12:00:00.123456Z"`:   "2026-03-01T12:00:00.123456Z",
		`"2026-03-01T14:00:00+02:00"`:     "2026-03-01T14:00:00+02:00",
		`"2026-03-01T12:00:00.250"`:       "2026-03-01T12:00:00.250Z",
		`"2026-03-01 12:00:00"`:           "2026-03-01T12:00:00Z",
		`"2026-03-01 12:00:00+00:00"`:     "2026-03-01T12:00:00Z",
		`"2026-03-01 14:00:00.5+02"`:      "2026-03-01T14:00:00.5+02:00",
		`"2026-03-01T14:00:00,5+0200"`:    "2026-03-01T14:00:00.5+02:00",
		`"2026-03-01t12:00:00z"`:          "2026-03-01T12:00:00Z",
		`"2026-03-01T12:00Z"`:             "2026-03-01T12:00Z", // nobody knows whether it was before 12:00:30
		`"20260301T120000Z"`:              "2026-03-01T12:00:00Z",
		`"Sun, 01 Mar 2026 12:00:00 UTC"`: "Sun, 01 Mar 2026 12:00:00 UTC",
		`1772366400`:                      "1772366400",
	} {
		card, err := newClient(t, respond(200, strings.Replace(cardBody, `"2026-03-01T12:00:00Z"`, written, 1))).GetCard(t.Context(), "card_1")
		if err != nil || card.CreatedAt != want || card.Balance != 50*usd.Dollar {
			t.Errorf("the time %s: %+v, %v", written, card, err)
		}
	}
	t.Run("an issued card with a property in another form", func(t *testing.T) {
		t.Parallel()
		usual := map[string]string{"allowed_categories": `["ads"]`, "auto_freeze_at": "5", "metadata": `{"team":"growth"}`, "expires_at": `"2029-03-31 12:00:00"`}
		for odd, value := range map[string]string{"allowed_categories": `{"code":"ads"}`, "auto_freeze_at": "false", "metadata": `[{"key":"team"}]`, "expires_at": `"2029-03-31\u001b[31m"`} {
			properties := maps.Clone(usual)
			properties[odd] = value
			body := cardBody
			for name, value := range properties {
				body = strings.Replace(body, "{", fmt.Sprintf("{%q:%s,", name, value), 1)
			}
			service := steps(respond(200, `{"data":[]}`), respond(201, body), respond(200, cardBody))
			issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
			same(t, odd, []any{toldOf(issuance, err), len(service.requests()), issuance.Card.ExpiresAt == "2029-03-31"}, fmt.Sprintf("[issued card_1 3 %t]", odd != "expires_at"))
		}
	})
	t.Run("an issued card that cannot be read", func(t *testing.T) {
		t.Parallel()
		card := strings.Replace(cardBody, "100.00", "null", 1)
		service := steps(respond(200, `{"data":[]}`), respond(201, card), respond(200, `{"data":[`+card+`]}`))
		_, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		if kindOf(err) != "unknown" || !strings.Contains(err.Error(), `(card "card_1")`) || len(service.requests()) != 3 {
			t.Errorf("%v, after %d requests", err, len(service.requests()))
		}
	})
	t.Run("an issued card of nulls", func(t *testing.T) {
		t.Parallel()
		created := `{"id":"card_1","bin_id":"bin_1","status":"active","balance":50,"spending_limit":5000,"allowed_categories":null,"metadata":{"n":12345678901234567890},"auto_freeze_at":null}`
		service := steps(respond(200, `{"data":null}`), respond(201, created))
		issuance, err := newClient(t, service).IssueCard(t.Context(), request("ads"))
		same(t, "issued", []any{err, issuance.Card.ID}, "[<nil> card_1]")
	})
	t.Run("lists of nothing, and what is no list", func(t *testing.T) {
		t.Parallel()
		for isList, bodies := range map[bool][]string{
			true:  {`{"data":[]}`, `{"data":null}`, `{"total":0}`, `{"page":1,"total":0}`, `{"data":[],"total":-1}`},
			false: {`null`, `[]`, `{}`, `{"total":1}`, `{"page":1}`, `{"total":null}`, `{"data":[null]}`, `{"data":{}}`, `{"data":[]}x`, ``},
		} {
			for _, body := range bodies {
				client := newClient(t, respond(200, body), onlyOneTry)
				if bins, err := client.Bins(t.Context()); len(bins) != 0 || (err == nil) != isList {
					t.Errorf("%s: %v, %v", body, bins, err)
				}
				if isList && len(listed(t, client, api.CardFilter{})) != 0 {
					t.Errorf("%s lists cards", body)
				}
			}
		}
	})
	t.Run("mobile wallets", func(t *testing.T) {
		t.Parallel()
		body := `{"data":[{"id":"bin_1","network":"visa","category":"ads","3ds":true,"brand_pay":true,"in_other_wallet":false,"fee_pay":1.5}],"total":1}`
		bins, err := newClient(t, respond(200, body)).Bins(t.Context())
		same(t, "the BINs", []any{err, bins}, "[<nil> [{ID:bin_1 Network:visa Category:ads ThreeDS:true Wallets:map[brand_pay:true in_other_wallet:false]}]]")
	})
}

// A response of 8 MiB is refused in a short message, whatever is in it.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
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
			service := steps(respond(status, body))
			for i, call := range []string{"list", "read", "bins", "transactions"} {
				if testing.Short() && (len(name)+status/100)%4 != i {
					continue
				}
				client := newClient(t, service, onlyOneTry) // that has met nothing
				err := try(t.Context(), client, call)
				refused := err != nil || name == "one text" && status == 200 // which is no id, of one record
				if !refused || len(fmt.Sprint(err)) > 2000 {
					t.Errorf("%s of %s with %d: %.300v", call, name, status, err)
				}
			}
		}
	}
}

// A list whose last page arrives late has ended all the same.
func TestListThatEndsLate(t *testing.T) {
	t.Parallel()
	clock := newFakeClock()
	client := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			_, _ = fmt.Fprint(w, `{"data":[{"id":"txn_1","type":"settlement","amount":1}]}`)
			return
		}
		for range 24 * 6 {
			if err := clock.Wait(r.Context(), 10*time.Minute); err != nil {
				t.Error(err)
			}
		}
		_, _ = fmt.Fprint(w, `{"data":[]}`)
	}), on(clock))
	must(t, client, "transactions")
}

// A list that never ends is refused in words, with or without a total.
func TestEndlessLists(t *testing.T) {
	t.Parallel()
	card := func(n int, total string) string {
		return fmt.Sprintf(`{"data":[%s],"page":%d,"per_page":1%s}`, strings.Replace(cardBody, "card_1", fmt.Sprintf("card_%d", n), 1), n, total)
	}
	transaction := func(n int) string {
		return fmt.Sprintf(`{"data":[{"id":"txn_%d","type":"settlement","amount":1}]}`, n)
	}
	for name, test := range map[string]struct {
		call  string
		page  func(n int) string
		pages int           // read; of transactions at most
		took  time.Duration // by a page
	}{
		"without a total":         {"cards", func(n int) string { return card(n, "") }, 101, 0},
		"with a total that grows": {"cards", func(n int) string { return card(n, fmt.Sprintf(`,"total":%d00`, n+1)) }, 101, 0},
		"with a huge total":       {"cards", func(n int) string { return card(n, `,"total":100000`) }, 101, 0},
		"of long pages":           {"cards", func(n int) string { return card(n, `,"x":"`+strings.Repeat("x", 4<<20)+`"`) }, 64, 0},
		"of slow pages":           {"cards", func(n int) string { return card(n, "") }, 7, 10 * time.Minute},
		"transactions":            {"transactions", transaction, 20_100, 0},
		"slow transactions":       {"transactions", transaction, 25, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pages atomic.Int32
			clock := newFakeClock()
			err := try(t.Context(), newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(pages.Add(1))
				if err := clock.Wait(r.Context(), test.took); err != nil {
					t.Error(err)
				}
				if test.call == "transactions" && r.URL.Query().Get("page") == "1" {
					n = 0
				}
				_, _ = fmt.Fprint(w, test.page(n))
			}), on(clock)), test.call)
			n := int(pages.Load())
			reason := map[string]string{"cards": "did not end", "transactions": "did not end in time"}[test.call]
			if err == nil || !strings.Contains(err.Error(), reason) || n > test.pages || n < test.pages && test.call == "cards" {
				t.Errorf("after %d pages: %v", n, err)
			}
		})
	}
}
