package card_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// killed applies a configuration and kills the CLI and the provider when it is due.
func killed(w cli, due <-chan struct{}, config string) {
	w.Write("main.tf", config)
	w.RunUntil(due, syscall.SIGKILL, "apply", "-no-color", "-auto-approve")
}

func all(int64) bool { return true }

// keyModes are what the service does with keys, and what the provider is told.
var keyModes = map[string]struct{ quirk, settings string }{
	"honoured, and said so": {"honoured", honoured},
	"honoured":              {"honoured", ""},
	"ignored":               {"ignored", ""},
}

func inEachKeyMode(t *testing.T, test func(t *testing.T, s *acctest.Service, settings string)) {
	t.Helper()
	for name, mode := range keyModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.AddQuirks(object{"idempotency": mode.quirk})
			test(t, s, mode.settings)
		})
	}
}

func TestKilledWhileFundingTenCards(t *testing.T) {
	t.Parallel()
	inEachKeyMode(t, func(t *testing.T, s *acctest.Service, settings string) {
		t.Helper()
		const n = 10
		config := func(amount int) string { return oneCard(fmt.Sprintf("count = %d\n  amount = %d", n, amount)) }
		w := applied(t, s, settings, config(100))
		slow, due := stalled(s, n, "/fund", func(i int64) bool { return i%2 == 0 })
		through(w, slow, settings)
		killed(w, due, config(140))
		output := apply(w, config(140))
		made := 0
		for _, card := range liveCards(s) {
			if card.Balance != 140*usd.Dollar {
				t.Errorf("card %s holds %s USD, want 140", card.ID, card.Balance)
			}
			if strings.Contains(unwrapped(output), "It was made before: fund card "+card.ID) {
				made++
			}
		}
		if made != n/2 {
			t.Errorf("of %d funds that the killed run made, %d are named:\n%s", n/2, made, output)
		}
		prints(t, output, "an apply that was cut off")
		if now, want := s.Wallet(), usd.Amount(10000-n*141)*usd.Dollar; now != want {
			t.Errorf("the wallet holds %s USD, want %s", now, want)
		}
		plansNothing(t, w)
	})
}

func TestConfigurationChangedAfterAKilledFund(t *testing.T) {
	t.Parallel()
	inEachKeyMode(t, func(t *testing.T, s *acctest.Service, settings string) {
		t.Helper()
		w := applied(t, s, settings, oneCard("amount = 100"))
		slow, due := stalled(s, 1, "/fund", all)
		through(w, slow, settings)
		killed(w, due, oneCard("amount = 140"))
		w.Write("main.tf", oneCard("amount = 150"))
		if settings == "" {
			prints(t, w.Must("plan", "-no-color"), "holds what its transactions do not explain", "40.00 USD came to it", "The fund of 50.00 USD comes on top")
			prints(t, apply(w, oneCard("amount = 150")), "Money moved on a card", "40.00 USD came to it", "a run that was cut off", "holds 190.00 USD now")
		} else { // unexplained money in its direction stops it once
			prints(t, w.Must("plan", "-no-color"), "The fund of 50.00 USD may have been made already", "stops once")
			prints(t, applyFails(t, w, oneCard("amount = 150")), "it may have been made already", "40.00 USD came to it", "set amount back by 50.00 USD")
			apply(w, oneCard("amount = 150"))
		}
		plansNothing(t, w)
		apply(w, oneCard("amount = 110")) // what the warning leaves to do
		serviceHolds(t, s, "active", 150*usd.Dollar, 9849*usd.Dollar)
	})
}

// Money that another hand moved is not the planned movement.
func TestMoneyFromElsewhereBeforeAFund(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		byUSD    int
		stops    bool
		words    []string
	}{
		"more than planned":            {"", 55, true, []string{"it may have been made already", "Nothing was sent", "holds 155.00 USD", "55.00 USD came to it", "set amount back by 40.00 USD", "apply again"}},
		"less than planned, honoured":  {honoured, 25, true, []string{"it may have been made already", "25.00 USD came to it"}},
		"less than planned":            {"", 25, false, []string{"Money moved on a card", "25.00 USD came to it", "holds 165.00 USD now"}},
		"withdrawn":                    {"", -40, false, []string{"Money moved on a card", "40.00 USD went from it", "holds 100.00 USD now"}},
		"just as planned, by any hand": {"", 40, false, []string{"It was made before", "change amount by 40.00 USD once more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, c.settings, oneCard("amount = 100"))
			id := onlyCard(s).ID
			by, call, want := c.byUSD, "/fund", usd.Amount(140+c.byUSD)*usd.Dollar
			switch c.byUSD {
			case -40:
				by, call = 40, "/withdraw"
			case 40:
				want = 140 * usd.Dollar
			}
			s.Post("/cards/"+id+call, map[string]int{"amount": by}).OK(http.StatusOK)
			if c.stops {
				prints(t, applyFails(t, w, oneCard("amount = 140")), c.words...)
				serviceHolds(t, s, "active", usd.Amount(100+c.byUSD)*usd.Dollar, usd.Amount(9899-c.byUSD)*usd.Dollar)
				apply(w, oneCard("amount = 140"))
			} else {
				prints(t, apply(w, oneCard("amount = 140")), c.words...)
			}
			serviceHolds(t, s, "active", want, 9999*usd.Dollar-want)
			plansNothing(t, w)
		})
	}
}

// A fund beside a purchase is one by every reading of what a purchase does to a
// balance, and the plan that tops up was made before it.
func TestMoneyFromElsewhereBeforeATopUp(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := oneCard("amount = 250\n  top_up = { below = 100, to = 250 }")
	w := applied(t, s, "", config)
	id := onlyCard(s).ID
	s.Authorize(id, "200", "7311").OK(http.StatusCreated)
	w.Must("plan", "-no-color", "-out=plan")
	s.Post("/cards/"+id+"/fund", map[string]int{"amount": 300}).OK(http.StatusOK)
	code, output := w.Run("apply", "-no-color", "plan")
	if code == 0 {
		t.Error("the saved plan was applied")
	}
	prints(t, output, "it is not due any more", "Nothing was sent", "350.00 USD by now", "Plan again")
	w.Must("apply", "-no-color", "-auto-approve", "-refresh=false") // by the balance that the stop has seen
	serviceHolds(t, s, "active", 350*usd.Dollar, 9449*usd.Dollar)
	plansNothing(t, w)
}

// The request of a killed run may arrive when the next one has looked already.
// The same key makes the service count it once.
func TestKilledFundThatArrivesLate(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]string{"honoured, and said so": honoured, "honoured": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, settings, oneCard("amount = 100"))
			var path, lateKey, nextKey string
			due := make(chan struct{})
			through(w, s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
				if !isCall(r, http.MethodPost, "/fund") {
					return false
				}
				if lateKey == "" {
					path, lateKey = strings.TrimPrefix(r.URL.Path, "/api/v1"), r.Header.Get("X-Idempotency-Key")
					_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client go
					close(due)
					<-r.Context().Done()
					panic(http.ErrAbortHandler)
				}
				nextKey = r.Header.Get("X-Idempotency-Key")
				s.Post(path, `{"amount":40.00}`, "X-Idempotency-Key", lateKey).OK(http.StatusOK)
				return false
			}), settings)
			killed(w, due, oneCard("amount = 140"))
			apply(w, oneCard("amount = 140"))
			if lateKey == "" || lateKey != nextKey {
				t.Errorf("the two runs sent the keys %q and %q", lateKey, nextKey)
			}
			serviceHolds(t, s, "active", 140*usd.Dollar, 9859*usd.Dollar)
			plansNothing(t, w)
		})
	}
}
