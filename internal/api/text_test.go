package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
		"a word":  {func(text string) fmt.Stringer { return transport.Word{}.Of(text) }, 64, false},
		"a name":  {func(text string) fmt.Stringer { return transport.Name{}.Of(text) }, 256, false},
		"a label": {func(text string) fmt.Stringer { return transport.Label{}.Of(text) }, 64, true},
		"a line":  {func(text string) fmt.Stringer { return transport.Line{}.Of(text) }, 256, true},
	} {
		whole, more := strings.Repeat("é", test.length), test.of(strings.Repeat("é", 1<<20))
		if test.of(whole).String() != whole || more.String() != whole+"…" || more == test.of(whole) {
			t.Errorf("%s of %d characters is %d long, of more %d", name, test.length, utf8.RuneCountInString(test.of(whole).String()), utf8.RuneCountInString(more.String()))
		}
		for _, number := range []string{"4111111111111111", "4111 1111-1111.1111", "４１１１１１１１１１１１１１１１", "120210987654322"} {
			if got := test.of("a " + number).String(); strings.Contains(got, number) != test.numbers {
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
				quoted, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, body := range []string{`{"error":"invalid_request","message":` + string(quoted) + `}`, text, `{"error":"x","message":[` + string(quoted) + `]}`, `{"error":` + string(quoted) + `}`} {
					said := said(t, 400, body)
					rest := strings.TrimPrefix(said, "read card card_1: GET /cards/card_1 answered 400")
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

// A message may say what the request says, and no other number.
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
		"internationalization_of_words is a long word":            "[redacted] is a long word",
		"the budget of the campaign_with_a_name_of_35_letters is": "the budget of the campaign_with_a_name_of_35_letters is",
	} {
		client := newClient(t, nil, onlyOneTry, func(c *api.Config) {
			c.Transport = sandboxtest.Direct(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					respond(200, `{"data":[],"total":0}`)(w, r)
					return
				}
				respond(400, inError(message))(w, r)
			}))
		})
		_, err := client.IssueCard(t.Context(), api.IssueCardRequest{
			BinID: "bin_411111", Amount: 75*usd.Dollar + 25*usd.Cent, Label: label, Metadata: map[string]string{"for": "campaign_with_a_name_of_35_letters"},
		})
		if err == nil || !strings.HasSuffix(err.Error(), "400 x: "+want) {
			t.Errorf("%s: %v, want %s", message, err, want)
		}
	}
}

// What the sandbox says is shown as it is, but for its numbers.
func TestMessagesOfTheSandboxStayReadable(t *testing.T) {
	t.Parallel()
	var said string
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Path, o.InitialBalance = ":memory:", 200*usd.Dollar
		o.Wrap = func(service http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				recorded := httptest.NewRecorder()
				service.ServeHTTP(recorded, r)
				var body struct {
					Message string `json:"message"`
				}
				if recorded.Code >= 400 && json.Unmarshal(recorded.Body.Bytes(), &body) == nil {
					said = body.Message
				}
				w.WriteHeader(recorded.Code)
				_, _ = recorded.Body.WriteTo(w)
			})
		}
	})
	s.Quirks(nil)
	client := newClient(t, nil, onlyOneTry, func(c *api.Config) { c.BaseURL, c.APIKey, c.Clock = s.URL, transport.Secret(s.Key), nil })
	issue := func(change func(*api.IssueCardRequest)) error {
		r := api.IssueCardRequest{BinID: "bin_ads_visa_us", Amount: 50 * usd.Dollar, Label: "ads"}
		change(&r)
		_, err := client.IssueCard(t.Context(), r)
		return err
	}
	issued, err := client.IssueCard(t.Context(), api.IssueCardRequest{BinID: "bin_ads_visa_us", Amount: 50 * usd.Dollar})
	if err != nil {
		t.Fatal(err)
	}
	strange := newClient(t, nil, onlyOneTry, func(c *api.Config) { c.BaseURL, c.APIKey, c.Clock = s.URL, "sk_live_sandbox_of_nobody", nil })
	limit := 900_000 * usd.Dollar
	calls := map[string]func() error{
		"the load":  func() error { return issue(func(r *api.IssueCardRequest) { r.Amount = 49 * usd.Dollar }) },
		"the BIN":   func() error { return issue(func(r *api.IssueCardRequest) { r.BinID = "bin_of_nobody_at_all" }) },
		"the label": func() error { return issue(func(r *api.IssueCardRequest) { r.Label = strings.Repeat("ads ", 20) }) },
		"the limit": func() error { return issue(func(r *api.IssueCardRequest) { r.SpendingLimit = &limit }) },
		"the category": func() error {
			return issue(func(r *api.IssueCardRequest) { r.AllowedCategories = []string{"anything"} })
		},
		"the threshold": func() error { return issue(func(r *api.IssueCardRequest) { r.AutoFreezeAt = new(usd.Amount(-1)) }) },
		"the wallet":    func() error { return issue(func(r *api.IssueCardRequest) { r.Amount = 9000 * usd.Dollar }) },
		"a fund":        func() error { return errorOf(client.Move(t.Context(), move(issued.Card.ID, 1000*usd.Dollar, nil))) },
		"no such card":  func() error { return errorOf(client.GetCard(t.Context(), "card_01j9zq8e3k7m2n4p5r6s7t8v9w")) },
		"the key":       func() error { return try(t.Context(), strange, "wallet") },
	}
	letters := regexp.MustCompile(`\[redacted\]|\P{L}`)
	for name, call := range calls {
		err := call()
		_, message, _ := strings.Cut(fmt.Sprint(err), ": 4")
		if err == nil || said == "" || !strings.HasSuffix(letters.ReplaceAllString(err.Error(), ""), letters.ReplaceAllString(said, "")) {
			t.Errorf("%s: %v %s, want %s", name, err, message, said)
		}
		said = ""
	}
}
