package card_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	gatewayPage = "<html><body>404 Not Found</body></html>"
	notFound    = `{"error":"not_found","message":"no such card"}`
)

// missing answers the first n calls of a method on a card as if it were not there.
func missing(s *acctest.Service, method string, n int64, status int, body string) *acctest.Service {
	var calls atomic.Int64
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.Contains(r.URL.Path, "/cards/card_") || calls.Add(1) > n {
			return false
		}
		answer(w, status, body)
		return true
	})
}

const always = 1 << 30

func TestCardThatIsSaidToBeMissingIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		status int
		body   string
		words  string
	}{
		"terminate, by a gateway":       {"DELETE", 404, gatewayPage, "a gateway or another server answered in its place"},
		"terminate, by the service":     {"DELETE", 404, notFound, "The list of cards still shows it, active and with 60.00 USD"},
		"terminate, gone":               {"DELETE", 410, notFound, "The list of cards still shows it, active and with 60.00 USD"},
		"refresh, by a gateway":         {"GET", 404, gatewayPage, "a gateway or another server answered in its place"},
		"refresh, gone by a gateway":    {"GET", 410, gatewayPage, "a gateway or another server answered in its place"},
		"refresh, by the service":       {"GET", 404, notFound, "The list of cards still shows it, active and with 60.00 USD"},
		"refresh, gone, by the service": {"GET", 410, notFound, "The list of cards still shows it, active and with 60.00 USD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			config := oneCard("amount = 60")
			w := applied(t, s, "", config)
			s.Advance("1h") // so that it is no new card
			through(w, missing(s, c.method, always, c.status, c.body), "")
			if c.method == http.MethodDelete {
				code, output := w.Run("destroy", "-no-color", "-auto-approve")
				if code == 0 {
					t.Error("a destruction that was answered 404 is complete")
				}
				prints(t, output, c.words)
			} else {
				prints(t, applyFails(t, w, config), c.words)
			}
			through(w, s, "")
			plansNothing(t, w)
			serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
		})
	}
}

func TestOneResponseOfAGatewayIsNotBelieved(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := applied(t, s, "", oneCard("amount = 60"))
	through(w, missing(s, http.MethodGet, 1, 404, gatewayPage), "")
	plansNothing(t, w)
	through(w, missing(s, http.MethodDelete, 1, 404, gatewayPage), "")
	w.Must("destroy", "-no-color", "-auto-approve")
	if live := liveCards(s); len(live) != 0 || s.Wallet() != 9999*usd.Dollar {
		t.Errorf("after the destruction %v is live, and the wallet holds %s USD", live, s.Wallet())
	}
}

// hiding is the service as it looks while it does not show its cards yet.
func hiding(s *acctest.Service, hidden *atomic.Bool) *acctest.Service {
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case !hidden.Load() || r.Method != http.MethodGet:
			return false
		case strings.Contains(r.URL.Path, "/cards/card_"):
			answer(w, 404, notFound)
		case strings.HasSuffix(r.URL.Path, "/cards"):
			answer(w, 200, `{"data":[],"page":1,"per_page":100,"total":0}`)
		default:
			return false
		}
		return true
	})
}

func TestCardIssuedMinutesAgoThatIsNotShownYet(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := oneCard("amount = 60")
	w := applied(t, s, "", config)
	var hidden atomic.Bool
	hidden.Store(true)
	through(w, hiding(s, &hidden), "")
	prints(t, applyFails(t, w, config), "issued only minutes ago")
	hidden.Store(false)
	plansNothing(t, w)
	serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
}

// rotated changes the deposit addresses that the account was known by.
func rotated(s *acctest.Service, change func(addresses []map[string]any) []map[string]any) *acctest.Service {
	return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/wallet/deposit-address") {
			return false
		}
		var list struct {
			Data []map[string]any `json:"data"`
		}
		if err := json.Unmarshal([]byte(forward(s, r).Raw), &list); err != nil {
			s.T.Error(err)
		}
		list.Data = change(list.Data)
		body, err := json.Marshal(list)
		if err != nil {
			s.T.Error(err)
		}
		answer(w, 200, string(body))
		return true
	})
}

func TestRotatedDepositAddressesMakeNoOtherAccount(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func([]map[string]any) []map[string]any{
		"rotated": func(all []map[string]any) []map[string]any {
			for i := range all[1:] {
				all[i]["address"] = fmt.Sprintf("sandbox-new-%d", i)
			}
			return all
		},
		"added": func(all []map[string]any) []map[string]any {
			return append(all, map[string]any{"currency": "doge", "network": "New", "address": "sandbox-doge-1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			config := oneCard("amount = 60")
			w := applied(t, s, "", config)
			s.Terminate(onlyCard(s).ID)
			s.Advance("1h")
			through(w, rotated(missing(s, http.MethodGet, always, 404, notFound), change), "")
			code, output := w.Run("plan", "-no-color", "-detailed-exitcode")
			if code != 2 {
				t.Errorf("the plan ended with %d", code)
			}
			prints(t, output, "is no longer known to the service", "1 to add, 0 to change, 0 to destroy")
		})
	}
}

// Under another account's key every card is missing, and one that was taken out of
// the configuration is not gone.
func TestAnotherAccountsKeyDropsNoCard(t *testing.T) {
	t.Parallel()
	for _, age := range []string{"1s", "1h"} {
		s := acctest.Start(t)
		config := oneCard("count = 2\n  amount = 60")
		w := applied(t, s, "", config)
		s.Advance(age)
		other := *s
		other.Client = s.As(s.Post("/_sandbox/accounts", map[string]string{"state": "ready"}).OK(http.StatusCreated).Text("api_key"))
		through(w, &other, "")
		for _, written := range []string{config, required} {
			output := applyFails(t, w, written)
			prints(t, output, "The API key belongs to another account")
			printsNot(t, output, "Apply complete")
		}
		through(w, s, "")
		w.Write("main.tf", config)
		plansNothing(t, w)
		if live := liveCards(s); len(live) != 2 {
			t.Errorf("%d cards are live, want 2", len(live))
		}
	}
}

// That takes lists to find out, and no request for each card.
func TestAnotherAccountsKeyIsFoundOutFromLists(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Quirks(nil) // lists say how many cards there are
	config := oneCard("count = 40\n  amount = 50")
	w := applied(t, s, "", config)
	s.Advance("1h")
	other := *s
	other.Client = s.As(s.Post("/_sandbox/accounts", map[string]string{"state": "ready"}).OK(http.StatusCreated).Text("api_key"))
	through(w, &other, "")
	other.Delete("/_sandbox/requests").Must()
	code, output := w.Run("plan", "-no-color")
	prints(t, output, "another account")
	if shown := unwrapped(output); !strings.Contains(shown, "The lists of cards do not show it") && !strings.Contains(shown, "The service answers 404 for it") { // whichever card is the first
		t.Errorf("nothing says by what sign:\n%s", output)
	}
	if n := len(requests(&other)); code != 1 || n > 8 {
		t.Errorf("the plan ended with %d after %d requests:\n%s", code, n, output)
	}
	through(w, s, "")
	plansNothing(t, w)
}
