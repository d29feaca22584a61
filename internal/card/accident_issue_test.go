package card_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestKilledWhileIssuingCardsWithWrittenLabels(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := oneCard("for_each = toset([\"search\", \"social\"])\n  amount = 60\n  label = each.key")
	w := acctest.NewWorkspace(t)
	slow, due := stalled(s, 2, "/cards", all)
	through(w, slow, "")
	killed(w, due, config)
	output := w.Must("plan", "-no-color")
	prints(t, output, "Live cards have labels of cards that this plan issues")
	orphans := ""
	for _, card := range liveCards(s) {
		prints(t, output, fmt.Sprintf("%q: %s, active, 60.00 USD", card.Label, card.ID))
		orphans += fmt.Sprintf("    %q = %q\n", card.Label, card.ID)
	}
	// One block for all: of several for one resource, Terraform 1.16.0 carries out one.
	acctest.Needs(t, "1.7.0", "1.7.0")
	apply(w, "import {\n  for_each = {\n"+orphans+"  }\n  to = vcard_card.test[each.key]\n  id = each.value\n}\n"+config)
	plansNothing(t, w)
	if live := liveCards(s); len(live) != 2 || s.Wallet() != 9878*usd.Dollar {
		t.Errorf("%v are live, and the wallet holds %s USD", live, s.Wallet())
	}
}

// A plan that could not look for orphans says so, since nothing else names them.
func TestOrphansThatCouldNotBeLookedFor(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	first := issue(s, map[string]any{"amount": 60, "label": "${shared}"})
	newest := issue(s, map[string]any{"amount": 60, "label": "${shared}"})
	w := newCLI(t, nil)
	through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if isCall(r, http.MethodGet, "/cards") {
			answer(w, http.StatusNotFound, notFound)
			return true
		}
		return false
	}), "")
	w.Write("main.tf", oneCard("amount = 60\n  label = \"$${shared}\""))
	prints(t, w.Must("plan", "-no-color"), "Could not look for cards that an earlier run left behind", "plan again before you apply", "404 (not_found)")
	through(w, s, "")
	prints(t, w.Must("plan", "-no-color"), "Live cards have labels of cards that this plan issues: "+newest.ID+" and 1 more", `"${shared}": card_`,
		`"$${shared}" = "card_`, fmt.Sprintf(`"$${shared} %s" = %[1]q`, first.ID))
}

func TestKilledWhileIssuingACardWithAGeneratedLabel(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := newCLI(t, nil)
	slow, due := stalled(s, 1, "/cards", all)
	through(w, slow, "")
	killed(w, due, oneCard("amount = 60"))
	left, diags := s.Protocol(nil).ReadDataSource("vcard_cards", object{"label_prefix": "tf-"})
	if plain(left["ids"]) != "["+onlyCard(s).ID+"]" {
		t.Errorf("of the cards that Terraform labelled, %v are found, %s", left["ids"], diags.Errors())
	}
}

// otherPipeline makes the first creation through it get lost before the service,
// while another pipeline issues a card of the same label and amount.
func otherPipeline(s *acctest.Service, meanwhile func()) *acctest.Service {
	var lost atomic.Bool
	return s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodPost, "/cards") || lost.Swap(true) {
			return false
		}
		_, _ = io.Copy(io.Discard, r.Body)
		meanwhile()
		panic(http.ErrAbortHandler)
	})
}

func TestTwoPipelinesIssueWithOneLabel(t *testing.T) {
	t.Parallel()
	const lines = "amount = 60\n  label = \"shared\""
	for name, c := range map[string]struct {
		settings string
		cards    int
		words    string
	}{
		"honoured": {honoured, 2, "A response was lost, and the outcome found out"},
		"unknown":  {"", 1, "A card was recognized by its label: card"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			other := ""
			w := newCLI(t, nil)
			through(w, otherPipeline(s, func() { other = issue(s, map[string]any{"amount": 60, "label": "shared"}).ID }), c.settings)
			output := apply(w, oneCard(lines))
			prints(t, output, c.words)
			live := liveCards(s)
			if len(live) != c.cards || s.Wallet() != usd.Amount(10000-61*c.cards)*usd.Dollar {
				t.Errorf("%v are live, and the wallet holds %s USD", live, s.Wallet())
			}
			shown := w.Must("show", "-no-color")
			if adopted := strings.Contains(shown, other); adopted != (c.cards == 1) {
				t.Errorf("the other pipeline's card %s in the state: %t", other, adopted)
			}
			if c.cards == 1 {
				prints(t, output, "Another pipeline that issues cards with this label might own it", "an alias runs in a process of its own", "terraform state rm")
			}
			plansNothing(t, w)
		})
	}
}

// A card with another limit than the one asked for is hardly ours: to take it
// would hide the limit, and give one card two owners.
func TestCardWithAnotherLimitIsNotAdopted(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	other := ""
	w := newCLI(t, nil)
	through(w, otherPipeline(s, func() {
		other = issue(s, map[string]any{"amount": 60, "label": "shared", "spending_limit": 100}).ID
	}), "")
	output := applyFails(t, w, oneCard("amount = 60\n  label = \"shared\"\n  spending_limit = 500"))
	prints(t, output, "it is not known whether this took effect", "a spending limit of 100.00 in place of 500.00 USD",
		"Cards that may be the one", "terraform import <address> "+other)
	serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
	if strings.Contains(w.Must("show", "-no-color"), other) {
		t.Error("the other pipeline's card is in the state")
	}
}

// A card that was there long before is another's, though no list showed it.
func TestOldCardThatAListShowsLateIsNotAdopted(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	old := issue(s, map[string]any{"amount": 60, "label": "shared"}).ID
	s.Advance("1h")
	var sent atomic.Bool
	late := otherPipeline(s, func() { sent.Store(true) })
	w := newCLI(t, nil)
	through(w, late.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodGet, "/cards") || sent.Load() {
			return false
		}
		relay(w, forward(s, r), 200, `{"data":[],"page":1,"per_page":100,"total":0}`)
		return true
	}), "")
	prints(t, applyFails(t, w, oneCard("amount = 60\n  label = \"shared\"")), "it is not known whether this took effect", "card "+old+" looks like it, but was issued", "before it was asked for")
	if live := liveCards(s); len(live) != 1 || strings.Contains(w.Must("show", "-no-color"), old) {
		t.Errorf("of the cards %v the old one was adopted, or another one was issued", live)
	}
}

// An object without the list is a wrong response and no empty list, which would
// make a card that is there look new.
func TestListWithoutDataIsNotEmpty(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issue(s, map[string]any{"amount": 60, "label": "shared"})
	s.Advance("1h")
	w := newCLI(t, nil)
	through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !isCall(r, http.MethodGet, "/cards") {
			return false
		}
		answer(w, 200, `{}`)
		return true
	}), "")
	prints(t, applyFails(t, w, oneCard("amount = 60\n  label = \"shared\"")), "nothing was issued", "data")
	serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
}

// A card without its BIN or limit must not read as one that has changed.
func TestCardWithoutRequiredFieldsPlansNoReplacement(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"bin_id", "spending_limit", "status", "balance"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			config := oneCard("count = 3\n  amount = 60\n  spending_limit = 500")
			w := applied(t, s, "", config)
			through(w, s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/cards") {
					return false
				}
				answer(w, 200, strings.ReplaceAll(forward(s, r).Raw, `"`+field+`"`, `"other"`))
				return true
			}), "")
			output := applyFails(t, w, config)
			prints(t, output, field)
			printsNot(t, output, "must be replaced", "Plan:")
			through(w, s, "")
			plansNothing(t, w)
		})
	}
}

// A replacement issues a card too, and a killed one leaves it behind just the same.
func TestKilledWhileReplacingACard(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	config := func(limit int) string {
		return oneCard(fmt.Sprintf("amount = 60\n  label = \"search\"\n  spending_limit = %d\n  lifecycle {\n    create_before_destroy = true\n  }", limit))
	}
	w := appliedByCLI(t, s, "", config(100))
	old := onlyCard(s)
	slow, due := stalled(s, 1, "/cards", all)
	through(w, slow, "")
	killed(w, due, config(200))
	orphan := liveCards(s)[0]
	output := w.Must("plan", "-no-color")
	prints(t, output, "Live cards have labels of cards that this plan issues", fmt.Sprintf("\"search\": %s, active, 60.00 USD", orphan.ID), fmt.Sprintf("id = %q", orphan.ID))
	printsNot(t, output, fmt.Sprintf("\"search\": %s", old.ID))

	s.Terminate(orphan.ID) // what the warning leaves to do
	printsNot(t, w.Must("plan", "-no-color", "-out=saved"), "Live cards")
	prints(t, w.Must("apply", "-no-color", "saved"), "In an apply with create_before_destroy they are the old cards, which are terminated next")
	serviceHolds(t, s, "active", 60*usd.Dollar, 9937*usd.Dollar)

	w.Must("taint", "vcard_card.test") // which is planned as a new card, and without a refresh
	printsNot(t, w.Must("plan", "-no-color", "-refresh=false"), "Live cards")
}
