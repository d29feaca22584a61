package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// A card number is one however it is grouped, and a time is none.
func TestGroupedNumbersAreHidden(t *testing.T) {
	t.Parallel()
	said := func(text string) string {
		body, err := json.Marshal(map[string]string{"error": "x", "message": "lost: " + text + " !"})
		if err != nil {
			t.Fatal(err)
		}
		return try(t.Context(), newClient(t, respond(400, string(body))), "read").Error()
	}
	for _, separator := range []string{"", " ", "-", ".", "/", "_", " - ", "\u2011", "\u2013", "\u00a0", "\u200b", ", ", "\n", `", "`, "|", "*"} {
		for _, digits := range [][]string{{"0000", "1234", "1234", "1234"}, {"0000", "123412", "34123"}, strings.Split("0000123412341234", ""), {"٠٠٠٠", "١٢٣٤", "١٢٣٤", "١٢٣٤"}} {
			if text := said(strings.Join(digits, separator)); !strings.HasSuffix(text, "lost: [redacted] !") {
				t.Errorf("separated by %q: %s", separator, text)
			}
		}
	}
	for _, text := range []string{"2026-03-01 12:00:00.123", "card_000012341234", "limits 50.00 to 50000.00", "keys begin with sk_live_", "secretary: 30 options, pandora 12, footprint 42", "no OTP for 3ds_8fj2 of card_465"} {
		if got := said(text); !strings.HasSuffix(got, "lost: "+text+" !") {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// However foreign text is written, what is secret in it can be seen through, and is
// not repeated. What is none is.
func TestEncodedSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const own = "correct/horse?battery"
	every := func(format string) func(string) string {
		return func(text string) (all string) {
			for _, b := range []byte(text) {
				all += fmt.Sprintf(format, b)
			}
			return all
		}
	}
	said := func(body string) string {
		return try(t.Context(), newClient(t, respond(502, body), onlyOneTry), "read").Error()
	}
	for name, encode := range map[string]func(string) string{
		"JSON": every(`\u%04x`), "JSON twice": every(`\\u%04X`), "Go": every(`\x%02x`), "a URL": every("%%%02x"), "a URL twice": every("%%25%02X"),
		"HTML": every("&#%d;"), "HTML in hexadecimal digits": every("&#x%X;"), "UTF-16": every("%c\x00"), "spread": every("%c\u200b"),
		"hexadecimal digits": every("%02x"), "capitals": every("%02X"),
		"base64": func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"base64 of URLs": func(text string) string {
			return base64.RawURLEncoding.EncodeToString([]byte("{\"x\":\"" + text + "\"}"))
		},
	} {
		for _, secret := range []string{planted, "4111 1111 1111 1111", testKey, "whsec_" + plantedOTP + "tail9"} {
			if text := said("lost: " + encode(secret) + " !"); !strings.HasSuffix(text, "lost: [redacted] !") {
				t.Errorf("%s in %s: %s", secret, name, text)
			}
		}
		_, err := newClient(t, respond(400, `{"error":`+strconv.Quote(encode(own))+`}`), onlyOneTry).
			RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com", Events: []string{"*"}, Secret: own})
		if strings.Contains(err.Error(), encode(own)) || strings.Contains(err.Error(), own) {
			t.Errorf("the request's secret in %s: %v", name, err)
		}
	}
	for _, text := range []string{
		"request 4bf92f3577b34da6a3ce929d0e0e4736", "request 01HV5ZQ8E3J7K6M2N4P9R1S0TX", "550e8400-e29b-41d4-a716-4466c5440000", "100% of /var/lib/api/v1/gateway", "5 & 6 < 7",
	} {
		if got := said(text); !strings.HasSuffix(got, ": "+text) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// What is cut off does not end with a part of a secret, wherever the secret is and
// whatever fills up what is ahead of it.
func TestCutTextEndsBeforeASecret(t *testing.T) {
	t.Parallel()
	token := strings.TrimPrefix(testKey, "sk_live_")
	for _, fill := range []string{" ", "\u200b", "9"} {
		for _, secret := range []string{planted, token, `"cvv": ` + plantedOTP} {
			for _, size := range []int{500, 8 << 10, 64 << 10} {
				for cut := 2; cut < 24; cut += 5 {
					body := strings.Repeat(fill, (size-cut)/len(fill)) + secret + strings.Repeat(" and so on", 1000)
					err := try(t.Context(), newClient(t, respond(502, body), onlyOneTry), "read")
					for _, part := range []string{planted[:12], token[:10], plantedOTP[:4]} {
						if strings.Contains(err.Error(), part) {
							t.Fatalf("%q ahead, cut at %d of %q in %d: %v", fill, cut, secret, size, err)
						}
					}
				}
			}
		}
	}
}

// People name cards after accounts and campaigns, of which the numbers are as long as a card's.
func TestRedactTellsCardNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`labelled "4111111111111111"`:   `labelled "[redacted]"`,
		"4111 1111-1111.1111 is a card": "[redacted] is a card",
		"4111111111111111 123 12/29":    "[redacted]",
		"Q4 4539 1488 0343 6467, slot1 4539148803436467, v2-4539148803436467, No1. 4539 1488 0343 6467": "Q4 [redacted], slot1 [redacted], v2-[redacted], No1. [redacted]",
		"４５３９１４８８ ０３４３６４６７ or 𝟜𝟝𝟛𝟡𝟙𝟜𝟠𝟠𝟘𝟛𝟜𝟛𝟞𝟜𝟞𝟟":                                                         "[redacted] or [redacted]",
		`"\u202e4539\u00a01488\u00a00343 6467"`: `"\u202e[redacted]"`,
		"labelled 120210987654322":              "labelled 120210987654322",
		"card_4111111111111111":                 "card_4111111111111111",
		"tf-20261123-12340002-a111-4111-8111-111111110007, card_12340002-a111-4111-8111-111111110007": "tf-20261123-12340002-a111-4111-8111-111111110007, card_12340002-a111-4111-8111-111111110007",
		"from 2026-03-15, to 2026-04-15, 00:00":                                                       "from 2026-03-15, to 2026-04-15, 00:00",
		"411111111111 is too short, 00000000000000000000 too long":                                    "411111111111 is too short, 00000000000000000000 too long",
	} {
		if got := (*api.Client)(nil).Redact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
