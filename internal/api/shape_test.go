package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// An error says what came back: of a response of another shape, after one try, its
// field, and of a refusal the service's words; where they may hold a secret, neither its
// value nor more than a code that is a word.
func TestErrorsSayWhatCameBack(t *testing.T) {
	t.Parallel()
	const entry = `{"id":"card_1","bin_id":"bin_1","status":"active","balance":1,"spending_limit":5}`
	const read, shape = "read card card_1: GET /cards/card_1 returned ", "the response does not have the documented shape: "
	fields := make([]string, 1000)
	for i := range fields {
		fields[i] = fmt.Sprintf(`,"f%d":0`, i)
	}
	code := func(code string) string { return `{"error":"` + code + `","message":"no"}` }
	for name, test := range map[string]struct {
		call   string
		status int
		body   string
		want   string
		ready  string // the code of an account that is not
	}{
		"an amount":               {"read", 200, strings.Replace(cardBody, "50.00", "50.005", 1), shape + "balance is 50.005: an amount in USD has at most two decimals", ""},
		"a text":                  {"read", 200, strings.Replace(cardBody, `"active"`, `7`, 1), shape + "status is a JSON number", ""},
		"missing fields":          {"read", 200, `{"id":"card_1","status":"active","spending_limit":5}`, shape + "balance, bin_id are missing", ""},
		"an entry":                {"list", 200, `{"data":[` + entry + `,` + strings.Replace(entry, `"active"`, `true`, 1) + `]}`, shape + "data[1].status is a JSON bool", ""},
		"an entry without fields": {"list", 200, `{"data":[` + entry + `,{"card":` + entry + `}]}`, shape + "data[1] lacks id, status, balance, bin_id, spending_limit", ""},
		"too many fields":         {"read", 200, `{"id":"card_1"` + strings.Join(fields, "") + `}`, shape + "the object has more than 1000 fields", ""},
		"too many entries":        {"bins", 200, `{"data":[` + strings.Repeat(`{"id":"b"},`, 50_000) + `{"id":"b"}]}`, shape + "data has more than 50000 entries", ""},
		"too many values":         {"list", 200, "[0" + strings.Repeat(",0", 600_001) + "]", shape + "its body has more than 600000 values", ""},
		"too large a body":        {"read", 200, strings.Repeat(" ", 8<<20) + cardBody, shape + "its body is larger than 8 MiB", ""},
		"no list":                 {"list", 200, `{"data":{"card_1":` + entry + `}}`, shape + "data is a JSON object", ""},
		"half a card":             {"list", 200, `{"data":[],"total":0.5}`, shape + "total is not a whole number", ""},
		"a page in words":         {"list", 200, `{"data":[],"page":"one"}`, shape + "page is not a whole number", ""},
		"an endless count":        {"list", 200, `{"data":[],"total":"Inf"}`, shape + "total is not a whole number", ""},
		"another case":            {"read", 200, strings.Replace(cardBody, "card_1", "CARD_1", 1), shape + "id is CARD_1, the requested id in another case. Use the id exactly as the dashboard shows it", ""},
		"a huge amount":           {"read", 200, strings.Replace(cardBody, "50.00", "1e300", 1), shape + `balance is "1e300": the amount is out of range`, ""},
		"a flag":                  {"bins", 200, `{"data":[{"id":"bin_1","3ds":"yes"}]}`, shape + "data[0].3ds is a JSON string", ""},
		"a wallet":                {"wallet", 200, `{"balance":"much","currency":"USDT"}`, shape + `balance is "much": not a decimal number`, ""},
		"an address":              {"addresses", 200, `{"data":[{"currency":"btc"}]}`, shape + "data[0].address is missing", ""},
		"secret details":          {"details", 200, `{"id":"card_1","pan":"0000123412341234","cvv":957123,"exp_month":1,"exp_year":2029}`, shape + "cvv", ""},
		"a secret code":           {"challenges", 200, `{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":271828}]}`, shape + "data[0].otp", ""},
		"no code":                 {"challenges", 200, `{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":null}]}`, shape + "data[0].otp", ""},
		"no transaction id":       {"transactions", 200, `{"data":[{"type":"refund","amount":1}]}`, shape + "data[0] lacks id", ""},

		"two fields":               {"read", 400, `{"error":"invalid_request","message":"no such card"}`, read + "400 invalid_request: no such card", ""},
		"extra fields":             {"read", 422, `{"error":"invalid_request","message":"no","request_id":"r1"}`, read + "422 invalid_request: no", ""},
		"nested fields":            {"read", 400, `{"error":{"code":"x","message":"no such card"}}`, read + "400 x: no such card", ""},
		"two messages":             {"read", 400, `{"error":"invalid_request","message":["no","nor that"]}`, read + `400 invalid_request: ["no","nor that"]`, ""},
		"another shape":            {"read", 400, `{"error":["x"]}`, read + `400 Bad Request: {"error":["x"]}`, ""},
		"no fields":                {"read", 400, `{"detail":"nope"}`, read + `400 Bad Request: {"detail":"nope"}`, ""},
		"a page":                   {"read", 404, "<html>\n\t<b>Not here\x00\x1b[31m</b></html>", read + "404 Not Found (after 2 attempts)", ""},
		"a titled page":            {"read", 400, " <!DOCTYPE HTML>\n<TITLE lang=en>Log\n in &gt; sk_live_abcd</TITLE><p>no", read + "400 Bad Request: Log in > [redacted]", ""},
		"half a page":              {"read", 400, "<p>\x00\x1b[31m<html>", read + "400 Bad Request: <p> [redacted]", ""},
		"nothing":                  {"read", 404, "", read + "404 Not Found (after 2 attempts)", ""},
		"not ready":                {"read", 403, `{"error":"api_not_enabled","message":"ask support"}`, read + "403 api_not_enabled: ask support", "api_not_enabled"},
		"not onboarded":            {"read", 403, `{"error":"onboarding_incomplete","message":""}`, read + "403 onboarding_incomplete", "onboarding_incomplete"},
		"forbidden":                {"read", 403, `{"error":"forbidden","message":""}`, read + "403 forbidden", ""},
		"very long":                {"read", 400, strings.Repeat("é ", 10_000), read + "400 Bad Request: " + strings.Repeat("é ", 250) + "…", ""},
		"a word":                   {"details", 400, code("invalid_request"), " returned 400 invalid_request", ""},
		"a digit":                  {"details", 400, code("3ds_not_ready"), " returned 400 3ds_not_ready", ""},
		"capitals":                 {"details", 400, code("Zk9qT2mVx"), " returned 400 [redacted]", ""},
		"a long word":              {"details", 400, code(strings.Repeat("x", 64)), " returned 400 " + strings.Repeat("x", 64), ""},
		"a longer word":            {"details", 400, code(strings.Repeat("x", 65)), " returned 400 [redacted]", ""},
		"digits":                   {"details", 400, code("zk9qt2mvx"), " returned 400 [redacted]", ""},
		"two words":                {"details", 400, code("otp MzQ1Njc4"), " returned 400 [redacted]", ""},
		"a short number":           {"details", 400, code("cvv_739"), " returned 400 [redacted]", ""},
		"a short number elsewhere": {"read", 400, code("E2001"), read + "400 E2001: no", ""},
		"no word":                  {"details", 400, code(""), " returned 400 Bad Request", ""},
		"a status without a name":  {"details", 520, code(""), " returned 520 (after 2 attempts)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := steps(respond(test.status, test.body))
			err := try(t.Context(), newClient(t, service, func(c *api.Config) { c.MaxRetries = 1 }), test.call)
			if err == nil || !strings.HasSuffix(err.Error(), test.want) || strings.HasPrefix(test.want, read) && err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
			_, isShape := errors.AsType[*transport.ShapeError](err)
			if isAccepted := test.status == 200; isShape != isAccepted || isAccepted && len(service.requests()) != 1 {
				t.Errorf("a *ShapeError: %t, after %d requests", isShape, len(service.requests()))
			}
			if transport.IsNotFound(err) || transport.NotReadyCode(err) != test.ready {
				t.Errorf("sorted wrongly: %v", err)
			}
			for _, secret := range []string{"957123", "271828", "0000123412341234"} {
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows %s", secret)
				}
			}
		})
	}
}

// What cannot be the service's is tried again.
func TestBodiesOfOthersAreNoWrongShapes(t *testing.T) {
	t.Parallel()
	for body, words := range map[string]string{`{}`: "", `{"message":"maintenance"}`: "", `null`: "", `"ok"`: "", `<html>`: "", `{"id":"card_1","sta`: "is not valid JSON"} {
		service := steps(respond(200, body))
		err := try(t.Context(), newClient(t, service, func(c *api.Config) { c.MaxRetries = 2 }), "wallet")
		if _, ok := errors.AsType[*transport.ShapeError](err); ok || err == nil || !strings.Contains(err.Error(), words) ||
			len(service.requests()) != 3 {
			t.Errorf("%s: %v after %d requests", body, err, len(service.requests()))
		}
	}
}

func TestChallengesThatAreSettled(t *testing.T) {
	t.Parallel()
	body := `{"data":[{"id":"3ds_1","status":"authenticated","otp":null,"amount":null},
		{"id":"3ds_2","card_id":"card_1","status":"Pending","otp":"1","amount":9.305,"expires_at":"2026-03-01T12:00:00"}]}`
	client := newClient(t, respond(200, body))
	pending, err := client.Challenges(t.Context(), "pending")
	same(t, "pending", []any{err, pending}, "[<nil> [{ID:3ds_2 CardID:card_1 Merchant: Amount:9.305 OTP:[redacted] Status:Pending ExpiresAt:2026-03-01T12:00:00Z}]]")
	if len(pending) != 1 || pending[0].OTP != "1" {
		t.Error("the code is another one")
	}
	if none, err := client.Challenges(t.Context(), "failed"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	for _, status := range []string{"authenticated", ""} {
		if _, err := client.Challenges(t.Context(), status); err == nil || !strings.HasSuffix(err.Error(), "data[0].card_id") {
			t.Errorf("%q: %v", status, err)
		}
	}
}

func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	for year, want := range map[string]int{"29": 2029, "2029": 2029, "0": 2000} {
		details, err := newClient(t, respond(200, `{"id":"card_1","pan":"0","cvv":"1","exp_month":1,"exp_year":`+year+`}`)).CardDetails(t.Context(), "card_1")
		if err != nil || details.ExpYear != want {
			t.Errorf("%s is read as %d, %v", year, details.ExpYear, err)
		}
	}
	for count, want := range map[string]*int64{`5.0`: new(int64(5)), `1e300`: new(int64(1 << 53)), `5.5`: nil, `"many"`: nil} {
		wallet, err := newClient(t, respond(200, `{"balance":1,"cards_active":`+count+`}`)).WalletBalance(t.Context())
		if err != nil || !reflect.DeepEqual(wallet.CardsActive, want) {
			t.Errorf("%s is read as %v, %v", count, wallet.CardsActive, err)
		}
	}
}

// A bug in this program, met anywhere on the way of a call, is an error of that call,
// which says where it is and repeats no value. What changes something may have been done.
func TestPanicIsAnErrorWithoutItsValue(t *testing.T) {
	t.Parallel()
	type value struct{ pan string }
	for _, call := range []string{"read", "details", "freeze"} {
		client := newClient(t, http.NotFoundHandler(), onlyOneTry, func(c *api.Config) {
			c.Observe = func(context.Context, transport.Exchange) { panic(value{planted}) }
		})
		err := try(t.Context(), client, call)
		if _, ok := errors.AsType[*crash.Error](err); !ok || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), planted) ||
			!strings.Contains(err.Error(), "api_test.value") || !strings.Contains(err.Error(), "shape_test.go:") {
			t.Errorf("%s: the error is %v", call, err)
		}
	}
}

// A request that panics while it is sent does not keep its slot in the rate limits.
func TestPanicWhileSendingReleasesTheSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, nil, onlyOneTry, func(c *api.Config) {
			c.Clock = nil
			c.Limits.RequestsPerMinute = 1
			c.Transport = panickingTransport{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for range 2 {
			err := try(ctx, client, "read")
			_, ok := errors.AsType[*crash.Error](err)
			if !ok {
				t.Errorf("the error is %v, want the panic", err)
			}
		}
	})
}

type panickingTransport struct{}

func (panickingTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("a bug") }

// A 2xx is final though this program fails to make anything of it: nothing is sent again.
func TestPanicAfterASuccessIsAnswered(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusAccepted, http.StatusServiceUnavailable} {
		service := steps(respond(status, ""))
		client := newClient(t, service, func(c *api.Config) {
			c.Observe = func(context.Context, transport.Exchange) { panic("a bug") }
		})
		err := try(t.Context(), client, "register")
		undecided, ok := errors.AsType[*transport.UndecidedError](err)
		if !ok || undecided.Answered != (status == http.StatusAccepted) || len(service.requests()) != 1 {
			t.Errorf("%d: %v after %d requests", status, err, len(service.requests()))
		}
	}
}

// What a stranger writes into an id reaches no advice that somebody may paste: its record
// alone is refused, and named by what nothing can be made of.
func TestIDsOfTheServiceAreChecked(t *testing.T) {
	t.Parallel()
	const card = `"status":"active","balance":1,"spending_limit":1`
	for name, test := range map[string]struct {
		call string
		body string // with %s for a record's id
		list bool
		in   string // what its field is called
	}{
		"a card in a list":   {"cards", `{"data":[{"id":%s,"bin_id":"b",` + card + `},{"id":"card_2","bin_id":"b",` + card + `}],"total":2}`, true, "id"},
		"its BIN":            {"cards", `{"data":[{"id":"card_1","bin_id":%s,` + card + `},{"id":"card_2","bin_id":"b",` + card + `}],"total":2}`, true, "bin_id"},
		"a BIN":              {"bins", `{"data":[{"id":%s},{"id":"bin_2"}]}`, true, "id"},
		"a transaction":      {"transactions", `{"data":[{"id":%s,"type":"refund","amount":1},{"id":"txn_2","type":"refund","amount":1}]}`, true, "id"},
		"its card":           {"transactions", `{"data":[{"id":"txn_1","card_id":%s,"type":"refund","amount":1},{"id":"txn_2","type":"refund","amount":1}]}`, true, "card_id"},
		"a challenge":        {"challenges", `{"data":[{"id":%s,"card_id":"card_1","status":"pending","otp":"1"},{"id":"3ds_2","card_id":"card_1","status":"pending","otp":"1"}]}`, true, "id"},
		"the BIN of a card":  {"read", `{"id":"card_1","bin_id":%s,` + card + `}`, false, "bin_id"},
		"an endpoint":        {"register", `{"secret":"s","id":%s}`, false, "id"},
		"a card just issued": {"issue", `{"data":[],"total":0,"id":%s,"bin_id":"bin_1","label":"ads",` + card + `}`, false, "id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range []string{
				".", "..", "card 1", "../card_1", "kärte", "card_1; rm -rf ~", "card_$(id)", "card_`id`", "card_${file(\"x\")}", "card_%{if true}",
				"card_1\"\n}", "card_1\n", "card_1|sh", "card_\u202e1", strings.Repeat("x", 257), "id_" + testKey, "whsec_1", "0000 1234 1234 1234",
			} {
				quoted := sandboxtest.Must(json.Marshal(value))
				var said string
				client := newClient(t, respond(200, fmt.Sprintf(test.body, quoted)), onlyOneTry)
				switch test.call {
				case "cards":
					for card, err := range client.Cards(t.Context(), api.CardFilter{}) {
						said += fmt.Sprintln(card, err)
					}
				case "bins":
					bins, err := client.Bins(t.Context())
					said = fmt.Sprintln(bins, err)
				case "transactions":
					for transaction, err := range client.Transactions(t.Context(), api.TransactionFilter{}) {
						said += fmt.Sprintln(transaction, err)
					}
				case "challenges":
					challenges, err := client.Challenges(t.Context(), "")
					said = fmt.Sprintln(challenges, err)
				default:
					err := try(t.Context(), client, test.call)
					if _, ok := errors.AsType[*transport.ShapeError](err); !ok || !strings.Contains(err.Error(), test.in) {
						t.Errorf("%q: %v", value, err)
					}
					said = err.Error()
				}
				isWhole := strings.Contains(said, "_2") && strings.Contains(said, "(invalid id, hash ") && strings.Contains(said, "<nil>")
				if test.list && !isWhole || strings.ContainsAny(said, "$`|\u202e") || len(value) > 2 && strings.Contains(said, value) {
					t.Errorf("%q: %s", value, said)
				}
			}
		})
	}
}

// Some services count, or make ids of the time: a number of any length is an id.
func TestNumbersAreIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"7", "4111111111111111", "1765432109876543210", strings.Repeat("7", 256)} {
		body := strings.NewReplacer("card_1", id, "bin_1", id).Replace(cardBody)
		if card, err := newClient(t, respond(200, body)).GetCard(t.Context(), id); err != nil || card.ID != id || card.BinID != id {
			t.Errorf("%s is read as %+v, %v", id, card, err)
		}
	}
}

// Text shows as one line of what can be seen, however it is written out, and is compared
// as it came.
func TestTextShowsInOneLine(t *testing.T) {
	t.Parallel()
	const bad = string(unicode.ReplacementChar)
	for came, want := range map[string]string{
		`"Ads & Co., “travel & stay”"`: "Ads & Co., “travel & stay”", `"Ethereum – ERC20"`: "Ethereum – ERC20", `"Bitcoin (SegWit, bech32)"`: "Bitcoin (SegWit, bech32)",
		`"東京 été"`: "東京 été", `""`: "", `5411`: "5411", `true`: "true", `{"a":[1]}`: `{"a":[1]}`,
		`"a\nb\r\tc"`: "a" + bad + "b" + bad + bad + "c", `"\u001b[2J\u009b1m"`: bad + "[2J" + bad + "1m", `"a\u0000b\u2028c\u2029d\u0085e"`: "a" + bad + "b" + bad + "c" + bad + "d" + bad + "e",
		`"\u202egpj\u2066\u200b\ufeff\udb40\udc41"`: bad + "gpj" + bad + bad + bad + bad, `"\ud800"`: bad,
		`"::error file=x::no"`: ":" + bad + "error file=x:" + ":no", `"a ::set-output"`: "a :" + bad + "set-output", `"\n::error"`: bad + ":" + bad + "error", `"FB::US::Q4"`: "FB::US::Q4", `"a:::b"`: "a::" + bad + "b",
		`"##vso[task.setvariable]"`: "#" + bad + "vso[task.setvariable]", `"a ##[error]"`: "a #" + bad + "[error]",
		`"sk_live_abc and WHSEC_abc"`: "[redacted] and [redacted]",
	} {
		var label transport.Label
		if err := json.Unmarshal([]byte(came), &label); err != nil {
			t.Errorf("%s: %v", came, err)
		}
		marshalled, err := json.Marshal(map[transport.Label]any{label: []any{label, &label}})
		var back map[string][]string
		if err != nil || json.Unmarshal(marshalled, &back) != nil || len(back[want]) != 2 || back[want][0] != want || back[want][1] != want {
			t.Errorf("%s is marshalled as %s, %v", came, marshalled, err)
		}
		for _, verb := range []string{"%s", "%v", "%+v", "%q", "%x", "%#v", "%d"} {
			if got, same := fmt.Sprintf(verb, label), fmt.Sprintf(verb, want); got != same {
				t.Errorf("%s is shown by %s as %q, want %q", came, verb, got, same)
			}
		}
		if shown := fmt.Sprintf("%+v", struct{ L []transport.Label }{[]transport.Label{label}}); shown != "{L:["+want+"]}" {
			t.Errorf("%s is shown in a list as %q", came, shown)
		}
	}
	if raw := asLabel("a\u202e\nb").Raw(); raw != "a\u202e\nb" || asLabel(raw) == asLabel("a\n\u202eb") {
		t.Errorf("%q is what is compared", raw)
	}
}

// No text is longer than its kind may be, what is cut equals no other one, and only some
// kinds may have a number as long as a card's.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of      func(string) fmt.Stringer
		length  int
		numbers bool
	}{
		"a word":  {func(text string) fmt.Stringer { return transport.NewWord(text) }, 64, false},
		"a name":  {func(text string) fmt.Stringer { return transport.NewName(text) }, 256, false},
		"a label": {func(text string) fmt.Stringer { return transport.NewLabel(text) }, 64, true},
		"a line":  {func(text string) fmt.Stringer { return transport.NewLine(text) }, 256, true},
	} {
		whole, more := strings.Repeat("é", test.length), test.of(strings.Repeat("é", 1<<20))
		if test.of(whole).String() != whole || more.String() != whole+"…" || more == test.of(whole) {
			t.Errorf("%s of %d characters is %d long, of more %d", name, test.length, utf8.RuneCountInString(test.of(whole).String()), utf8.RuneCountInString(more.String()))
		}
		for _, number := range []string{"4111111111111111", "4111111111111", "4111 1111-1111.1111", "４１１１１１１１１１１１１１１１", "120210987654322"} {
			if got := test.of(number).String(); strings.Contains(got, number) != test.numbers {
				t.Errorf("%s of %s is %s", name, number, got)
			}
		}
		if got := test.of(strings.Repeat("4111111111111111 ", 1<<16)).String(); !test.numbers && strings.ContainsAny(got, "1234567890") {
			t.Errorf("%s of many numbers is %s", name, got)
		}
	}
}

// However a service spells a secret in a message that it should not send, in prose or in
// JSON, as the message of an error, as a page, or in a field of an error, nobody is shown it.
func TestSpelledSecretsAreHidden(t *testing.T) {
	t.Parallel()
	names := map[string][]string{
		"4111111111111111":           {"PAN", "card number", "cardNumber", "primary_account_number", "number"},
		"4111 1111 1111 1111":        {"PAN", "card no."},
		"4111:1111:1111:1111":        {"pan", "cc"},
		"٤١١١-١١١١-١١١١-١١١١":        {"pan"},
		"739":                        {"CVV", "cvc", "cvv2", "CSC", "CID", "CVN", "card verification value", "cardVerificationValue", "security code", "Prüfziffer"},
		"4 8 2 9 1 3":                {"code"},
		"482913":                     {"OTP", "one-time code", "oneTimeCode", "passcode", "verification code", "verification_code", "TAN", "challenge_code", "smsCode", "PIN", "token", "3DS password"},
		"482-913":                    {"OTP", "TAN"},
		"Zk9qT2mVxLr8PfWd3HsYbN6u":   {"secretKey", "signing_secret", "webhookSecret", "client secret", "api_key", "token"},
		"Zk9q-T2mV-xLr8":             {"secretKey", "api key", "password"},
		"whsec_abcdefghijklm":        {"secret", "signing key"},
		"sk_live_zyxwvut":            {"key", "Authorization: Bearer"},
		"NDgyOTEzIDczOQ==NDgyOTEzID": {"code in base64"},
	}
	forms := []string{
		"the %s is %s, try again", `try again: {"%s":"%s"}`, `try again, %s=%s`, "try again with %s: %s", `try again {\"%s\": {\"value\": \"%s\"}}`, "%[2]s is the %[1]s; try again", "try again (%s %s)", "try again, %s\t→ %s.",
	}
	spellings := 0
	for secret, all := range names {
		for _, name := range all {
			for _, form := range forms {
				spellings++
				text := fmt.Sprintf(form, name, secret)
				quoted := sandboxtest.Must(json.Marshal(text))
				for _, body := range []string{`{"error":"invalid_request","message":` + string(quoted) + `}`, text, `{"error":"x","message":[` + string(quoted) + `]}`, `{"error":` + string(quoted) + `}`} {
					said := said(t, 400, body)
					rest := strings.TrimPrefix(said, "read card card_1: GET /cards/card_1 returned 400")
					for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(" :-", r) }) {
						if strings.Contains(rest, part) && part != "" {
							t.Errorf("%s is shown as %s", body, said)
						}
					}
					if !strings.Contains(said, "try again") {
						t.Errorf("%s cannot be read as %s", body, said)
					}
				}
			}
		}
	}
	if spellings < 118 {
		t.Errorf("there are %d spellings", spellings)
	}
}

// A message, also one of the sandbox, may say what the request says, and no other number.
func TestMessagesMayRepeatTheRequest(t *testing.T) {
	t.Parallel()
	const label = "Q4 2026 120210987654322"
	for message, want := range map[string]string{
		"card_000012341234 is frozen":                             "[redacted] is frozen",
		"bin_411111 takes no 75.25 USD, at most 50.00":            "bin_411111 takes no 75.25 USD, at most [redacted]",
		`the label "` + label + `" is used`:                       `the label "` + label + `" is used`,
		"limits are 411 to 1111":                                  "limits are [redacted] to [redacted]",
		"at most 20 keys of 12 words, as API v1 has it":           "at most 20 keys of 12 words, as API v1 has it",
		"https://cards.example.com/api/v1/cards is not there":     "https://cards.example.com/api/v1/cards is not there",
		"https://cards.example.com/api/v1/cards/of/others is":     "[redacted] is",
		"internationalization_is no internationalization_now":     "internationalization_is no [redacted]",
		"the budget of the campaign_with_a_name_of_35_letters is": "the budget of the campaign_with_a_name_of_35_letters is",
		`there is no BIN "bin_411111"; GET /bins lists them`:      `there is no BIN "bin_411111"; GET /bins lists them`,
		"send a valid API key as Authorization: Bearer sk_live_…": "send a valid API key as Authorization: Bearer sk_live_…",
		"label has 80 characters; at most 64 are allowed":         "label has 80 characters; at most 64 are allowed",
		`categories: "any" is none; there are travel, government`: `categories: "any" is none; there are travel, government`,
		"the wallet holds 149.00 USD, less than the 1000.00 USD":  "the wallet holds [redacted] USD, less than the [redacted] USD",
	} {
		service := steps(respond(200, `{"data":[],"total":0}`), respond(400, inError(message)))
		client := newClient(t, nil, onlyOneTry, func(c *api.Config) { c.Transport = sandboxtest.Direct(service) })
		_, err := client.IssueCard(t.Context(), api.IssueCardRequest{
			BinID: "bin_411111", Amount: 75*usd.Dollar + 25*usd.Cent, Label: label, Metadata: map[string]string{"for": "campaign_with_a_name_of_35_letters"},
		})
		if err == nil || !strings.HasSuffix(err.Error(), "400 x: "+want) {
			t.Errorf("%s: %v, want %s", message, err, want)
		}
	}
}

// A card that came of a lost response is not taken where its id is none.
func TestNewCardWithoutAnID(t *testing.T) {
	t.Parallel()
	var posted atomic.Bool
	err := try(t.Context(), newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := `{"data":[],"total":0}`
		if posted.Load() {
			list = `{"data":[{"id":"card 1","bin_id":"bin_1","label":"ads","status":"active","balance":50,"spending_limit":1}],"total":1}`
		}
		if r.Method == http.MethodPost {
			posted.Store(true)
			drop(w, r)
		}
		respond(200, list)(w, r)
	})), "issue")
	const why = "id is not a valid id: card\ufffd1 (invalid id, hash 31efe52b)"
	if _, isOpen := errors.AsType[*transport.UndecidedError](err); !isOpen || !strings.HasSuffix(err.Error(), why) {
		t.Errorf("it ends in %v", err)
	}
}
