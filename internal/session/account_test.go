package session_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// account is a service that lists these addresses and these cards.
type account struct {
	addresses []string // nil: they cannot be read
	cards     map[string]api.CardStatus
	unlisted  bool // the cards cannot be listed
	hidden    int  // cards that are counted and not listed
	leavesOut bool // frozen cards, of which no status is asked for
	timeless  bool // no response has a Date
	requests  atomic.Int32
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.requests.Add(1)
	if a.timeless {
		w.Header()["Date"] = nil
	}
	entries := []string{}
	cards := strings.HasSuffix(r.URL.Path, "/cards")
	switch {
	case cards && a.unlisted, !cards && a.addresses == nil:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"unavailable","message":"not today"}`))
		return
	case cards:
		for id, status := range a.cards {
			if asked := r.URL.Query().Get("status"); a.leavesOut && cmp.Or(asked, "active") != string(status) {
				continue
			}
			entries = append(entries, fmt.Sprintf(`{"id":%q,"bin_id":"bin_1","status":%q,"balance":10.00,"spending_limit":100.00}`, id, status))
		}
	default:
		for i, address := range a.addresses {
			entries = append(entries, fmt.Sprintf(`{"currency":"coin%d","address":%q}`, i, address))
		}
	}
	_, _ = fmt.Fprintf(w, `{"data":[%s],"page":1,"per_page":100,"total":%d}`, strings.Join(entries, ","), len(entries)+a.hidden)
}

// owner is what is remembered of an account with these addresses.
func owner(t *testing.T, addresses ...string) session.Account {
	t.Helper()
	account, err := against(t, (&account{addresses: addresses}).ServeHTTP).Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// A card is gone only when the account that owned it says so: all other reasons
// for its absence keep it.
func TestProveGone(t *testing.T) {
	t.Parallel()
	ours, others := owner(t, "a", "b"), owner(t, "x", "y")
	type cards = map[string]api.CardStatus
	type met = map[string]session.Account
	another := cards{"card_2": api.StatusActive}
	sandbox := &session.Sandbox{Path: "/data/sandbox.db"}
	for name, test := range map[string]struct {
		known       session.Account
		listed      cards
		met         met // others of the state, by their owners
		unreadable  bool
		hidden      int // cards that are counted and not listed
		leavesOut   bool
		timeless    bool
		sandbox     *session.Sandbox
		age         time.Duration // an hour where it is zero
		says, fails string        // why it is kept; the error where nothing is found out
	}{
		"listed as terminated":             {listed: cards{"card_1": api.StatusTerminated}},
		"still listed":                     {known: ours, listed: cards{"card_1": api.StatusFrozen}, says: "still shows it, frozen and with 10.00 USD"},
		"listed with its status alone":     {known: ours, leavesOut: true, listed: cards{"card_1": api.StatusFrozen}, says: "still shows it, frozen"},
		"the only card":                    {known: ours},
		"another card is found":            {known: ours, listed: another, met: met{"card_2": ours}},
		"one of two others is found":       {known: ours, listed: another, met: met{"card_2": ours, "card_3": ours}},
		"no other card is found":           {known: ours, met: met{"card_2": ours}, says: "sees none of the other cards"},
		"some addresses have been rotated": {known: owner(t, "before", "b")},
		"cards that are not listed":        {known: ours, hidden: 1, says: "as many cards as the service counts"},
		"another account":                  {known: others, says: "belongs to another account than"},
		"another account, none is found":   {known: others, met: met{"card_2": others}, says: "belongs to another account than"},
		"all addresses have been rotated":  {known: others, listed: another, met: met{"card_2": others}},
		"another account, which has other cards of the state": {
			known: others, listed: cards{"card_2": api.StatusActive, "card_3": api.StatusActive}, met: met{"card_2": others, "card_3": ours}, says: "belongs to another account than",
		},
		"never recorded":                        {says: "never recorded"},
		"never recorded, another card is found": {listed: another, met: met{"card_2": {}}, says: "never recorded"},
		"addresses cannot be read":              {known: ours, unreadable: true, fails: "not today"},
		"addresses cannot be read, another account, which has another card of the state": {
			known: others, listed: another, met: met{"card_2": ours}, unreadable: true, fails: "not today",
		},
		"issued nine minutes ago":                  {known: ours, age: 9 * time.Minute, says: "only minutes ago"},
		"issued nine minutes ago, without a Date":  {known: ours, age: 9 * time.Minute, timeless: true, says: "only minutes ago"},
		"issued eleven minutes ago":                {known: ours, age: 11 * time.Minute},
		"another sandbox":                          {known: others, sandbox: sandbox, says: "sandbox file /data/sandbox.db is not the one"},
		"another sandbox, not recorded":            {sandbox: sandbox, says: "sandbox file /data/sandbox.db is not the one"},
		"a sandbox made anew":                      {known: others, sandbox: &session.Sandbox{Path: "/data/sandbox.db", Created: true}, says: "sandbox file /data/sandbox.db was missing"},
		"a sandbox, addresses cannot be read":      {known: others, sandbox: sandbox, unreadable: true, fails: "not today"},
		"the same sandbox, no other card is found": {known: ours, met: met{"card_2": ours}, sandbox: sandbox, says: "sees none of the other cards"},
		"the same sandbox":                         {known: ours, sandbox: sandbox},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &account{addresses: []string{"a", "b"}, hidden: test.hidden, leavesOut: test.leavesOut, timeless: test.timeless}
			if test.unreadable {
				service.addresses = nil
			}
			s := against(t, service.ServeHTTP)
			_, _, _ = s.Cards.Live(t.Context(), "card_1", time.Time{}) // of which nothing follows for later
			s.Sandbox, service.cards = test.sandbox, test.listed
			s.Track("card_1", test.known)
			for id, account := range test.met {
				s.Track(id, account)
			}
			if test.age == 0 {
				test.age = time.Hour
			}
			err := s.ProveGone(t.Context(), "card_1", time.Now().Add(-test.age), test.known)
			kept, isKept := errors.AsType[*session.NotGoneError](err)
			switch {
			case isKept != (test.says != "") || (err != nil) != (test.says+test.fails != ""):
				t.Errorf("%v", err)
			case isKept && (!strings.Contains(kept.Reason, test.says) || (kept.Sandbox != nil) != strings.Contains(test.says, "sandbox file") || kept.Unlisted):
				t.Errorf("%+v", kept)
			case test.fails != "" && !strings.Contains(err.Error(), test.fails):
				t.Errorf("%v", err)
			case err == nil && test.met == nil: // its absence tells no longer of another account
				if err := s.ProveGone(t.Context(), "card_9", time.Time{}, ours); err != nil {
					t.Errorf("another card: %v", err)
				}
			}
		})
	}
}

// The owner of a card is asked for only where something is odd.
func TestCheckOwner(t *testing.T) {
	t.Parallel()
	ours, others := owner(t, "a"), owner(t, "x")
	type cards = map[string]api.CardStatus
	for name, test := range map[string]struct {
		owner      session.Account
		listed     cards
		unlisted   bool // lists of the refresh lack it
		foreign    bool // another card was another account's
		unreadable bool
		unlistable bool
		requests   int32
		refuses    bool
	}{
		"listed":                                   {owner: others},
		"listed, another was another account's":    {owner: others, foreign: true, requests: 2, refuses: true},
		"not recorded":                             {unlisted: true},
		"not recorded, another was another's":      {unlisted: true, foreign: true},
		"unlisted, same account":                   {owner: ours, unlisted: true, requests: 1},
		"unlisted, another account":                {owner: others, unlisted: true, requests: 2, refuses: true},
		"unlisted, another account that has it":    {owner: others, listed: cards{"card_1": api.StatusActive}, unlisted: true, requests: 2},
		"unlisted, another account with a card":    {owner: others, listed: cards{"card_2": api.StatusActive}, unlisted: true, requests: 2},
		"unlisted, another account with strangers": {owner: others, listed: cards{"card_9": api.StatusActive}, unlisted: true, requests: 2, refuses: true},
		"unlisted, cards cannot be listed":         {owner: others, unlisted: true, unlistable: true, requests: 2},
		"unlisted, addresses cannot be read":       {owner: others, unlisted: true, unreadable: true, requests: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &account{addresses: []string{"a"}, cards: test.listed, unlisted: test.unlistable}
			if test.unreadable {
				service.addresses = nil
			}
			s := against(t, service.ServeHTTP)
			s.Track("card_1", test.owner)
			s.Track("card_2", others)
			before := int32(0)
			if test.foreign {
				if err := s.CheckOwner(t.Context(), "card_2", others, true); err == nil {
					t.Fatal("the other card is taken for the key's")
				}
				before = service.requests.Load()
				test.requests = 0 // both answers are known
			}
			err := s.CheckOwner(t.Context(), "card_1", test.owner, test.unlisted)
			problem, refused := errors.AsType[*session.NotGoneError](err)
			if refused != test.refuses || refused != (err != nil) || refused && !problem.Unlisted {
				t.Errorf("%v", err)
			}
			if n := service.requests.Load() - before; n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
		})
	}
}
