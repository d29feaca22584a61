package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// plantedBodies are what calls would get, with secrets in them.
func plantedBodies() []string {
	return []string{
		`{"id":"card_1","pan":"` + planted + `","cvv":"` + plantedOTP + `","exp_month":1,"exp_year":2031,"key":"` + testKey + `"}`,
		`{"data":[{"id":"3ds_1","card_id":"card_1","status":"pending","otp":"` + plantedOTP + `","amount":5}],"total":1,"key":"` + testKey + `"}`,
		`{"id":"wh_1","url":"https://hooks.example.com","events":["*"],"secret":"` + plantedOTP + `","created_at":"2026-03-01T12:00:00Z"}`,
		`{"data":[` + cardBody + `],"page":1,"per_page":100,"total":1,"pan":"` + planted + `"}`,
		`{"data":[{"id":"txn_1","card_id":"card_1","type":"refund","amount":` + planted + `.5,"currency":"` + planted + `","fee":0,"merchant":{"name":"x","mcc":"1"},"created_at":"2026-03-01 12:00:00"}],"page":1}`,
		`{"data":[{"id":"bin_1","network":"visa","category":"ads","3ds":true,"a_pay":true}],"total":1}`,
		`{"data":[{"currency":"btc","network":"Bitcoin","address":"` + testKey + `"}]}`,
		`{"balance":100.000001,"currency":"USDT","pending_deposits":"0","cards_active":1,"cards_total_balance":1e3}`,
		`{"error":"invalid_request","message":"key ` + testKey + ` of card ` + planted + `"}`,
		cardBody, `{"id":"card_1","status":"frozen","balance":1}`,
		// For every call of a movement, and more.
		strings.TrimSuffix(cardBody, "}") + `,"card_id":"card_1","card_balance":51,"wallet_balance":1,"returned_to_wallet":50,"data":[],"page":1,"total":0,` +
			`"metadata":{"a":"b"},"allowed_categories":["advertising"],"auto_freeze_at":5,"expires_at":"2031-01-31","pan":"` + planted + `"}`,
	}
}

// mostFuzzed is how many requests of a call are answered: lists may have no end.
const mostFuzzed = 10

// random matches the parts of an error that may have the digits of a secret by chance: addresses, keys and times.
var random = regexp.MustCompile(`0x[0-9a-f]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|time\.Date\([^)]*\)`)

// callEverything makes each call of the client, and fails where
// an error repeats a secret.
func callEverything(t *testing.T, transport func() http.RoundTripper) {
	t.Helper()
	for _, call := range []string{
		"details", "challenges", "register", "read", "list", "bins", "wallet", "addresses",
		"freeze", "unfreeze", "terminate", "issue", "fund", "withdraw", "transactions",
	} {
		secrets := []string{planted, strings.TrimPrefix(testKey, "sk_live_")}
		if slices.Contains([]string{"details", "challenges", "register"}, call) {
			secrets = append(secrets, plantedOTP)
		}
		ctx, end := context.WithTimeout(context.Background(), 10*time.Second)
		err := try(ctx, fuzzedClient(t, transport()), call) // of a client that has met nothing
		end()
		text := random.ReplaceAllString(fmt.Sprintf("%v %+v %#v", err, err, err), "")
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s repeats a secret: %v", call, err)
			}
		}
	}
}

func fuzzedClient(t *testing.T, transport http.RoundTripper) *api.Client {
	t.Helper()
	return newClient(t, nil, unlimited, keysHonoured, func(c *api.Config) {
		c.Transport, c.RequestTimeout = transport, 2*time.Second
	})
}

// FuzzResponse reads any body under any status by every decoder: as the response to
// all requests, and to changes alone.
func FuzzResponse(f *testing.F) {
	for _, body := range plantedBodies() {
		for _, status := range []int{200, 400, 429, 500} {
			f.Add(status, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		answer := func(status int, body []byte) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		}
		status = 100 + ((status-100)%500+500)%500
		for _, changesAlone := range []bool{false, true} {
			callEverything(t, func() http.RoundTripper {
				asked := atomic.Int32{}
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					switch {
					case asked.Add(1) > mostFuzzed:
						return nil, io.ErrUnexpectedEOF
					case !changesAlone || r.Method != http.MethodGet:
						return answer(status, body)
					case strings.HasSuffix(r.URL.Path, "/card_1"):
						return answer(http.StatusOK, []byte(cardBody))
					}
					return answer(http.StatusOK, []byte(`{"data":[],"page":1,"total":0}`))
				})
			})
		}
	})
}

// FuzzRawService has the whole client ask a service that answers with any bytes.
func FuzzRawService(f *testing.F) {
	for _, body := range plantedBodies()[:4] {
		for _, response := range sandboxtest.BrokenResponses(body) {
			f.Add([]byte(response.Bytes))
		}
	}
	f.Fuzz(func(t *testing.T, response []byte) {
		callEverything(t, func() http.RoundTripper {
			asked := atomic.Int32{}
			return &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
				if asked.Add(1) > mostFuzzed {
					return nil, io.ErrUnexpectedEOF
				}
				ours, theirs := net.Pipe()
				go func() {
					defer func() { _ = theirs.Close() }()
					asked := make([]byte, 16<<10)
					if _, err := theirs.Read(asked); err == nil {
						_, _ = theirs.Write(response)
					}
				}()
				return ours, nil
			}}
		})
	})
}

// FuzzQuotedText has a service quote a secret amid any text.
func FuzzQuotedText(f *testing.F) {
	f.Add("card ", "", " is lost")
	f.Add("", " - ", "")
	f.Add("key=", "\u2011", "\n")
	f.Add(strings.Repeat("0", 64<<10), ".", "9")
	f.Add("sk_live_", "/", "sk_live_")
	f.Fuzz(func(t *testing.T, before, separator, after string) {
		grouped := strings.Join([]string{planted[:4], planted[4:8], planted[8:12], planted[12:]}, separator)
		for _, secret := range []string{testKey, strings.ToUpper(testKey), testKey[len("sk_live_"):], "whsec_" + plantedOTP, planted, grouped} {
			err := try(context.Background(), fuzzedClient(t, sandboxtest.Direct(respond(400, before+secret+after))), "read")
			isGrouped := secret == grouped && (len(separator) > 4 || strings.ContainsFunc(separator, func(r rune) bool {
				return r == ':' || r > 0x7f || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
			}))
			if !isGrouped && strings.Contains(err.Error(), secret) {
				t.Errorf("repeats %q: %v", secret, err)
			}
		}
	})
}

// FuzzAddress checks that no address has the key sent where it must not go.
func FuzzAddress(f *testing.F) {
	for _, address := range []string{
		"https://cards.example.com/api/v1", "http://localhost:1/api/v1", "http://LOCALHOST/api/v1/", "http://[::1]/api/v1", "http://127.0.0.1.example.com/api/v1",
		"https://me:pw@cards.example.com/api/v1", "https://cards.example.com/api/v1?key=" + testKey, "http://localhost@evil.example.com/api/v1", "http://127.1/api/v1",
		"https://[::%25\x89]/api/v1", "//cards.example.com/api/v1", "https:cards.example.com/api/v1", "https://" + testKey + ".example.com/api/v1", "http://[::ffff:127.0.0.1]/api/v1", "https://[::1%25lo]/api/v1",
	} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		var asked *url.URL
		client, err := api.New(api.Config{BaseURL: address, APIKey: testKey, Clock: newFakeClock(), Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL
			return nil, io.ErrUnexpectedEOF
		})})
		if err != nil {
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the error repeats the key: %v", err)
			}
			return
		}
		if err := try(context.Background(), client, "read"); asked == nil {
			t.Fatalf("%q was accepted, and nothing asked: %v", address, err)
		}
		if asked.User != nil || asked.RawQuery != "" || !strings.HasSuffix(asked.Path, "/api/v1/cards/card_1") || strings.Contains(client.String(), testKey) {
			t.Errorf("%q asked %s", address, asked)
		}
		if ip := net.ParseIP(asked.Hostname()); asked.Scheme != "https" && (asked.Scheme != "http" || asked.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
			t.Errorf("%q sends the key to %s", address, asked)
		}
	})
}
