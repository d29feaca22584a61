package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const (
	planted    = "0000123412341234"
	plantedOTP = "918273"
)

// Values that hold a secret give it by its field and in no other way.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	config := api.Config{BaseURL: "https://cards.example.com/api/v1", APIKey: "sk_live_" + planted}
	client := sandboxtest.Must(api.New(config))
	for name, value := range map[string]any{
		"configuration":   config,
		"its pointer":     &config,
		"client":          client,
		"field":           struct{ c *api.Client }{client},
		"details":         api.CardDetails{PAN: planted, CVV: plantedOTP, ExpMonth: 1, ExpYear: 2031},
		"challenge":       api.Challenge{ID: "3ds_1", CardID: "card_1", OTP: planted},
		"webhook request": api.WebhookRequest{URL: "https://hooks.example.com", Secret: planted},
		"webhook":         api.Webhook{ID: "wh_1", Secret: planted},
		"registration":    api.Registration{Webhook: api.Webhook{ID: "wh_1", Secret: planted}},
		"slice":           []api.CardDetails{{PAN: planted}},
		"pointer":         &api.CardDetails{PAN: planted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
				fmt.Fprintf(&text, verb, value)
			}
			if err := json.NewEncoder(&text).Encode(value); err != nil && !errors.As(err, new(*json.UnsupportedTypeError)) {
				t.Fatal(err)
			}
			slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "value", value)
			slog.New(slog.NewTextHandler(&text, nil)).Info("x", "value", value)
			for _, secret := range []string{planted, plantedOTP, fmt.Sprintf("%x", planted)} {
				if strings.Contains(text.String(), secret) {
					t.Errorf("shows a secret: %s", text.String())
				}
			}
		})
	}
}

// Whatever a service answers, an error repeats no secret of it.
func TestErrorsRepeatNoSecrets(t *testing.T) {
	t.Parallel()
	const own, token, password = "correct horse battery", "to-ken77", "pa55word"
	const pending = `{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":`
	const said = `{"error":"unauthorized","message":"unknown key `
	registered := api.WebhookRequest{URL: "https://me:" + password + "@hooks.example.com/v/" + token + "?key=" + token, Events: []string{"*"}, Secret: own}
	for name, test := range map[string]struct {
		call   string
		status int
		body   string
	}{
		"details cut off":           {"details", 200, `{"id":"card_1","pan":"` + planted + `","cvv":"` + plantedOTP},
		"details in numbers":        {"details", 200, `{"id":"card_1","pan":1` + planted + `,"cvv":` + plantedOTP + `,"exp_month":1,"exp_year":2031}`},
		"details in a page":         {"details", 500, `<html>` + planted + " " + plantedOTP},
		"a code cut off":            {"challenges", 200, pending + plantedOTP + `}]}`},
		"a code as an amount":       {"challenges", 200, pending + `"","amount":"` + plantedOTP + `x"}]}`},
		"a code in an error":        {"challenges", 502, plantedOTP},
		"a secret in an error":      {"register", 400, `{"error":"invalid_request","message":"secret whsec_` + planted + ` is too short"}`},
		"a secret in a page":        {"register", 400, `whsec_` + planted + plantedOTP},
		"a secret of one's own":     {"register", 400, `{"error":"invalid_request","message":"` + own + ` is too short"}`},
		"an address with a token":   {"register", 400, `{"error":"invalid_request","message":"/v/` + token + ` cannot be reached"}`},
		"an address's password":     {"register", 400, `{"error":"invalid_request","message":"me:` + password + ` is not wanted"}`},
		"a code with a token":       {"register", 400, `{"error":"` + token + `"}`},
		"the key in a message":      {"read", 401, said + testKey + `"}`},
		"the key in a page":         {"read", 401, `no key ` + testKey},
		"another key":               {"read", 401, `{"error":"sk_live_` + planted + `","message":""}`},
		"a number by its name":      {"read", 400, `{"error":"x","message":"card with PAN 0000 1234 1234 1234 is lost"}`},
		"a code in sentences":       {"read", 400, inError("OTP 918-273 was sent, the OTP is 918273")},
		"a code in a message":       {"challenges", 400, `{"error":"invalid_request","message":"the code ` + plantedOTP + ` is spent"}`},
		"a code in a code":          {"challenges", 400, `{"error":"otp_` + plantedOTP + `","message":""}`},
		"a code below a code":       {"details", 400, `{"error":{"code":"cvv ` + plantedOTP + `","message":"` + plantedOTP + `"}}`},
		"the key in capitals":       {"read", 401, said + strings.ToUpper(testKey) + `"}`},
		"the key's token":           {"read", 401, said + strings.TrimPrefix(testKey, "sk_live_") + `"}`},
		"a code in another's page":  {"read", 500, `<html>{"cvv":"` + plantedOTP + `","secret":"` + own + `"}`},
		"a code in another's words": {"read", 400, `{"error":"x","message":"{\"otp\": ` + plantedOTP + `}"}`},
		"codes of other names":      {"read", 500, `{"otp_code":"918273","otpCode":"918273","card_cvv":"918273","cardCvv":918273,"smsOtp":918273,"cvv":{"value":"918273"},"security_code":918273}`},
		"secrets of other names":    {"read", 500, `{"signing_secret":"to-ken77 pa55word","webhook_secret":{"value":"to-ken77"},"webhookSecret": to-ken77}`},
		"another key with a space":  {"read", 401, `{"error":"x","message":"unknown key sk_live_abcd efgh` + plantedOTP + `"}`},
		"a number as an amount":     {"read", 200, strings.Replace(cardBody, "50.00", `"`+planted+`.918273"`, 1)},
		"a number as no amount":     {"transactions", 200, `{"data":[{"id":"txn_1","type":"refund","amount":"` + planted + `x"}]}`},
		"the key as no amount":      {"transactions", 200, `{"data":[{"id":"txn_1","type":"refund","amount":"` + testKey + `"}]}`},
		"a number in a wrong type":  {"read", 200, `{"id":"card_1","status":"active","balance":{"pan":"` + planted + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, respond(test.status, test.body), onlyOneTry)
			err := try(t.Context(), client, test.call)
			if test.call == "register" {
				_, err = client.RegisterWebhook(t.Context(), registered)
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, secret := range []string{planted, plantedOTP, plantedOTP[3:] + " was", "tail9", "TAIL9", "1234 1234", own, token, password} {
				if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v %#v", err, err), secret) {
					t.Errorf("repeats a secret: %v", err)
				}
			}
		})
	}
}

// A secret of which the words are plain is known by itself: as a code, and spread.
func TestPlainSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const key, secret = "sk_live_correcthorse", "battery-staple"
	spread := func(text string) string { return strings.Join(strings.Split(text, ""), "\u200b") }
	for _, body := range []string{
		`{"error":"` + key + `"}`, `{"error":"correcthorse"}`, `{"error":"` + secret + `"}`, `{"error":"x_` + secret + `","message":"` + secret + `"}`,
		`{"error":"x","message":"no ` + spread(key) + ` here"}`, `{"error":"x","message":"no ` + spread("CorrectHorse") + ` here"}`,
	} {
		client := func() *api.Client {
			return newClient(t, respond(400, body), onlyOneTry, func(c *api.Config) { c.APIKey = key })
		}
		_, err := client().RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com", Events: []string{"*"}, Secret: secret})
		said := err.Error()
		if !strings.Contains(body, secret) {
			said += try(t.Context(), client(), "read").Error()
		}
		for _, part := range []string{"correcthors", "CorrectHors", "battery", "staple"} {
			if strings.Contains(said, part) {
				t.Errorf("%.200s is said as %s", strings.TrimSpace(body), said)
			}
		}
	}
}

// A key is known without its prefix too, unless what is left is as short as a word.
func TestTokenOfAKeyIsHidden(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"horsefly": "[redacted]", "sandbox_horsefly": "[redacted]", "horsefl": "horsefly"} {
		text := said(t, 400, inError("no Horsefly"), func(c *api.Config) { c.APIKey = transport.Secret("sk_live_" + token) })
		if !strings.HasSuffix(strings.ToLower(text), "400 x: no "+want) {
			t.Errorf("with %s: %s, want %s", token, text, want)
		}
	}
}

// What a service sends behind a response with secrets is nobody's response.
func TestResponseBehindASecretIsNotRead(t *testing.T) {
	t.Parallel()
	more := `{"error":"x","message":"` + planted + `"}`
	service := sandboxtest.RawService(t, func(to net.Conn, r *http.Request) {
		body := cardBody
		if strings.HasSuffix(r.URL.Path, "/details") {
			body = `{"id":"card_1","pan":"1","cvv":"1","exp_month":1,"exp_year":2031}`
		}
		_, _ = fmt.Fprintf(to, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if body != cardBody {
			time.Sleep(10 * time.Millisecond) // as long as the connection might go on
			_, _ = fmt.Fprintf(to, "HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s", len(more), more)
		}
	})
	client := newClient(t, nil, onlyOneTry, func(c *api.Config) { c.BaseURL = service + "/api/v1" })
	for range 20 {
		must(t, client, "details", "read")
	}
}

// Of a call for a secret an error says what kind of failure it was, in words of our own.
func TestFailuresOfSecretCallsAreNamed(t *testing.T) {
	t.Parallel()
	says := func(text string, closes func(net.Conn)) func(net.Conn, *http.Request) {
		return func(to net.Conn, _ *http.Request) {
			_, _ = to.Write([]byte(text))
			closes(to)
		}
	}
	shut := func(to net.Conn) { _ = to.Close() }
	for name, test := range map[string]struct {
		answer func(net.Conn, *http.Request)
		want   string
	}{
		"words":   {says("hello "+planted, shut), "got no usable response: malformed HTTP response"},
		"nothing": {says("", shut), " to HOST got no usable response: the connection closed before the end of the response"},
		"a part": {
			says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", shut),
			"the 200 response is incomplete: the connection closed before the end of the response",
		},
		"a silence": {says("", func(net.Conn) {}), "got no usable response: the request timed out"},
		"a reset": {says("", func(to net.Conn) {
			_ = to.(*net.TCPConn).SetLinger(0)
			shut(to)
		}), "connection reset by peer"},
		"a redirect": {says("HTTP/1.1 302 Found\r\nLocation: http://["+planted+"\r\nContent-Length: 0\r\n\r\n", shut), "returned 302 Found"},
		"a switch": {
			says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", func(net.Conn) {}),
			"the 101 response switches to another protocol",
		},
		"no TLS": {nil, " to HOST could not be sent: the connection through TLS or a proxy failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(plain.Close)
			address := strings.Replace(plain.URL, "http:", "https:", 1)
			if test.answer != nil {
				address = sandboxtest.RawService(t, test.answer)
			}
			err := try(t.Context(), newClient(t, nil, onlyOneTry, func(c *api.Config) { c.BaseURL, c.RequestTimeout = address+"/api/v1", time.Second }), "details")
			_, host, _ := strings.Cut(address, "//")
			if err == nil || !strings.Contains(err.Error(), strings.Replace(test.want, "HOST", host, 1)) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// A proxy that says again what it was told shows nobody its password.
func TestPasswordOfAProxyIsHidden(t *testing.T) {
	t.Parallel()
	asked := 0 // which form is said
	for _, password := range []string{"hunter2", "correct  horse", "pass%w\u00f6rd:", "letters", "iK>ZWe", "abc"} {
		for _, base := range []string{"https://cards.example.com/api/v1", "http://sandbox/api/v1"} {
			for _, says := range []string{
				"HTTP/1.1 407 ECHO\r\n\r\n", "HTTP/1.1 407 no ECHO is known\r\n\r\n", "HTTP/1.1 407\r\nContent-Length: 0\r\nX: ECHO\r\n\r\n", "ECHO\r\n\r\n", "HTTP/ECHO 200 OK\r\n\r\n", "HTTP/1.1 ECHO\r\n\r\n",
				"HTTP/1.1 407 No\r\nContent-Length: 100\r\n\r\nno ECHO", "HTTP/1.1 400 No\r\nConnection: close\r\n\r\n{\"error\":\"ECHO\",\"message\":\"no ECHO\"}", "HTTP/1.1 502 No\r\nConnection: close\r\n\r\nno ECHO",
			} {
				var echoes []string
				asked++
				proxy := sandboxtest.RawService(t, func(to net.Conn, r *http.Request) {
					header := r.Header.Get("Proxy-Authorization")
					_, encoded, _ := strings.Cut(header, " ")
					pair := sandboxtest.Must(base64.StdEncoding.DecodeString(encoded))
					echoes = []string{header, encoded, string(pair), password, url.UserPassword("me", password).String()}
					_, _ = to.Write([]byte(strings.ReplaceAll(says, "ECHO", echoes[asked%len(echoes)])))
					_ = to.Close()
				})
				address := sandboxtest.Must(url.Parse(proxy))
				address.User = url.UserPassword("me", password)
				client := newClient(t, nil, onlyOneTry, func(c *api.Config) {
					c.BaseURL, c.APIKey, c.Transport = base, "sk_live_sandbox_0123", &http.Transport{Proxy: http.ProxyURL(address)}
				})
				for _, call := range []string{"read", "details"} {
					err := try(t.Context(), client, call)
					for _, echo := range echoes {
						if _, escaped, _ := strings.Cut(address.User.String(), ":"); err == nil || strings.Contains(err.Error(), strings.TrimRight(strings.Join(strings.Fields(echo), " "), "=")) || strings.Contains(err.Error(), escaped) {
							t.Errorf("%s: %v", says, err)
						}
					}
				}
				if len(echoes) == 0 {
					t.Errorf("%s: the proxy was not asked", base)
				}
			}
		}
	}
}

// A proxy that cannot be reached is named, also for a call whose response contains secrets.
func TestUnreachableProxyIsNamed(t *testing.T) {
	t.Parallel()
	address := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	client := newClient(t, nil, onlyOneTry, func(c *api.Config) {
		c.BaseURL = "https://cards.example.com/api/v1"
		c.Transport = &http.Transport{Proxy: http.ProxyURL(address)}
	})
	for _, call := range []string{"read", "details"} {
		err := try(t.Context(), client, call)
		if err == nil || !strings.Contains(err.Error(), "through the proxy 127.0.0.1:1") {
			t.Errorf("%s: the error is %v, want the proxy's address in it", call, err)
		}
	}
}

// The key goes to the service and to nobody whom the service points at.
func TestKeyIsNotCarriedAlong(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was visited", r.URL) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		service := steps(respond(status, "", "Location", other.URL+"/api/v1/cards/card_1"))
		client := newClient(t, service, onlyOneTry)
		if err := try(t.Context(), client, "read"); err == nil || !strings.Contains(err.Error(), strconv.Itoa(status)) {
			t.Errorf("%d: %v", status, err)
		}
		if err := try(t.Context(), client, "register"); kindOf(err) != "unknown" {
			t.Errorf("%d: %v", status, err)
		}
		for _, r := range service.requests() {
			if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
				t.Errorf("the service got %q", got)
			}
		}
	}
}

func TestRequestsSayWhatTheyHaveTo(t *testing.T) {
	t.Parallel()
	service := steps(drop, respond(429, ""), respond(200, cardBody), respond(200, `{"id":"card_1","status":"frozen","balance":1}`))
	var seen []string
	client := newClient(t, service, func(c *api.Config) {
		c.UserAgent = "terraform-provider-vcard/1.2.3"
		c.Observe = func(_ context.Context, x transport.Exchange) {
			seen = append(seen, fmt.Sprintf("%s %s %d, attempt %d, waited %t", x.Method, x.Path, x.Status, x.Attempt, x.Waited > 0))
		}
	})
	must(t, client, "read", "freeze")
	for i, r := range service.requests() {
		changes := r.Method == http.MethodPost
		if r.Header.Get("User-Agent") != "terraform-provider-vcard/1.2.3" || (r.Header.Get("X-Idempotency-Key") != "") != changes || r.ContentLength != 0 {
			t.Errorf("request %d: %s with %v", i, r.Method, r.Header)
		}
	}
	want := []string{
		"GET /cards/card_1 0, attempt 1, waited false", "GET /cards/card_1 429, attempt 2, waited false",
		"GET /cards/card_1 200, attempt 3, waited true", "POST /cards/card_1/freeze 200, attempt 1, waited false",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("observed %q, want %q", seen, want)
	}
}

func TestCardIDsStayIDs(t *testing.T) {
	t.Parallel()
	service := steps(notFound)
	client := newClient(t, service)
	for _, id := range []string{"", ".", "..", strings.Repeat("x", 257)} {
		if _, err := client.GetCard(t.Context(), id); err == nil || !strings.Contains(err.Error(), "not a card id") {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := client.TerminateCard(t.Context(), id); err == nil {
			t.Errorf("%q was terminated", id)
		}
	}
	for _, id := range []string{"../wallet/balance", "card_1/freeze", "a?b=c", "ä#%2F"} {
		if _, err := client.GetCard(t.Context(), id); !transport.IsNotFound(err) {
			t.Errorf("%.30q: %.300v", id, err)
		}
		requests := service.requests()
		if got := requests[len(requests)-1].RequestURI; got != "/api/v1/cards/"+url.PathEscape(id) {
			t.Errorf("%.30q went to %.300s", id, got)
		}
	}
	if client.HasWritten() {
		t.Error("reading counts as writing")
	}
}

// Nobody is given the number of another card.
func TestDetailsOfAnotherCard(t *testing.T) {
	t.Parallel()
	client := newClient(t, respond(200, `{"id":"card_2","pan":"0000123412341234","cvv":"123","exp_month":1,"exp_year":2030}`), onlyOneTry)
	if details, err := client.CardDetails(t.Context(), "card_1"); err == nil || details.PAN != "" || strings.Contains(err.Error(), "0000123412341234") {
		t.Errorf("%+v, %v", details, err)
	}
}

// A card number is one however it is grouped, and a time is none.
func TestGroupedNumbersAreHidden(t *testing.T) {
	t.Parallel()
	for _, separator := range []string{"", " ", "-", ".", "/", "_", " - ", "\u2011", "\u2013", "\u00a0", "\u200b", ", ", "\n", `", "`, "|", "*"} {
		for _, digits := range [][]string{{"0000", "1234", "1234", "1234"}, {"0000", "123412", "34123"}, strings.Split("0000123412341234", ""), {"٠٠٠٠", "١٢٣٤", "١٢٣٤", "١٢٣٤"}} {
			if text := said(t, 400, inError("lost: "+strings.Join(digits, separator)+" !")); !strings.HasSuffix(text, "lost: [redacted] !") {
				t.Errorf("separated by %q: %s", separator, text)
			}
		}
	}
	for _, text := range []string{"at most 20 keys", "keys begin with sk_live_", "secretary: 30 options, pandora 12, footprint 42", "no OTP for 3DS of card_1"} {
		if got := said(t, 400, inError("lost: "+text+" !")); !strings.HasSuffix(got, "lost: "+text+" !") {
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
			if text := said(t, 502, "lost: "+encode(secret)+" !"); !strings.HasSuffix(text, "lost: [redacted] !") {
				t.Errorf("%s in %s: %s", secret, name, text)
			}
		}
		_, err := newClient(t, respond(400, `{"error":`+strconv.Quote(encode(own))+`}`), onlyOneTry).
			RegisterWebhook(t.Context(), api.WebhookRequest{URL: "https://hooks.example.com", Events: []string{"*"}, Secret: own})
		if strings.Contains(err.Error(), encode(own)) || strings.Contains(err.Error(), own) {
			t.Errorf("the request's secret in %s: %v", name, err)
		}
	}
	for _, text := range []string{"10% of /var/lib/api/v1/gateway", "upstream connect error or disconnect/reset", "5 & 6 < seven"} {
		if got := said(t, 502, text); !strings.HasSuffix(got, ": "+text) {
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
		for _, secret := range []string{planted, token, `"cvv": ` + plantedOTP, strings.Repeat("Secretly", 5)} {
			for _, size := range []int{500, 8 << 10, 64 << 10} {
				for cut := 2; cut < 24; cut += 5 {
					body := strings.Repeat(fill, (size-cut)/len(fill)) + secret + strings.Repeat(" and so on", 1000)
					text := said(t, 502, body)
					for _, part := range []string{planted[:12], token[:10], plantedOTP[:4], "SecretlySecretly"} {
						if strings.Contains(text, part) {
							t.Fatalf("%q ahead, cut at %d of %q in %d: %s", fill, cut, secret, size, text)
						}
					}
				}
			}
		}
	}
}

// A number as long as a card's is none of a word, a time or an id.
func TestRedactTellsCardNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`labelled "4111111111111111"`:   `labelled "[redacted]"`,
		"4111 1111-1111.1111 is a card": "[redacted] is a card",
		"4111111111111111 123 12/29":    "[redacted]",
		"Q4 4539 1488 0343 6467, slot1 4539148803436467, v2-4539148803436467, No1. 4539 1488 0343 6467": "Q4 [redacted], slot1 [redacted], v2-[redacted], No1. [redacted]",
		"４５３９１４８８ ０３４３６４６７ or 𝟜𝟝𝟛𝟡𝟙𝟜𝟠𝟠𝟘𝟛𝟜𝟛𝟞𝟜𝟞𝟟":                                                         "[redacted] or [redacted]",
		`"\u202e4539\u00a01488\u00a00343 6467"`: `"\u202e[redacted]"`,
		"labelled act_120210987654322":          "labelled act_120210987654322",
		"labelled 120210987654322":              "labelled [redacted]",
		"card_4111111111111111":                 "card_4111111111111111",
		"tf-20261123-12340002-a111-4111-8111-111111110007, card_12340002-a111-4111-8111-111111110007": "tf-20261123-12340002-a111-4111-8111-111111110007, card_12340002-a111-4111-8111-111111110007",
		"from 2026-03-15, to 2026-04-15, 00:00":                                                       "from 2026-03-15, to 2026-04-15, 00:00",
		"411111111111 is too short, 00000000000000000000 is not":                                      "411111111111 is too short, [redacted] is not",
	} {
		if got := (*transport.Client)(nil).Redact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
