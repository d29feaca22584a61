package session_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// against returns a session with a service that responds like this.
func against(t *testing.T, respond http.HandlerFunc) *session.Session {
	t.Helper()
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	return session.New(sandboxtest.Must(api.New(api.Config{BaseURL: server.URL + "/api/v1", APIKey: "sk_live_1"})))
}

// Whoever waits for what another asked for ends with a context of its own, and is not
// failed by the other's.
func TestInterruptedCallersOfOneAnswer(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	asked := make(chan struct{})
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			close(asked)
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"data": [], "total": 0}`))
	})
	call := func(ctx context.Context, who string, want error) {
		if _, err := s.Bins(ctx); !errors.Is(err, want) {
			t.Errorf("%s caller got %v", who, err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	callers.Go(func() { call(ctx, "the interrupted", context.Canceled) })
	<-asked
	gone, leave := context.WithCancel(t.Context())
	leave()
	call(gone, "a waiting", context.Canceled)
	callers.Go(func() { call(t.Context(), "the other", nil) })
	interrupt()
	callers.Wait()
}

// What an endpoint fails at is told in full once, and then in a line.
func TestFailingEndpointIsToldOnce(t *testing.T) {
	t.Parallel()
	s := against(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	const what = "the service fails at calls of this kind"
	for _, want := range [][2]string{{"T" + what[1:], "Every other call of this kind fails for this too."}, {"Could not list the BINs: " + what, ""}} {
		_, err := s.Bins(t.Context())
		if d := session.ErrorDiagnostic("list the BINs", err); d.Summary() != want[0] || !strings.Contains(d.Detail(), want[1]) || (d.Detail() == "") != (want[1] == "") {
			t.Errorf("says %q: %q, want %q", d.Summary(), d.Detail(), want)
		}
	}
}

// Cards that a killed run left are looked for on two pages, however many there are.
func TestUnmanagedLooksAtTwoPages(t *testing.T) {
	t.Parallel()
	var pages atomic.Int32
	var s *session.Session
	s = against(t, func(w http.ResponseWriter, _ *http.Request) {
		number := pages.Add(1)
		var cards []string
		for i := range api.MaxPerPage {
			cards = append(cards, fmt.Sprintf(`{"id":"card_%d_%d","bin_id":"b","status":"active","balance":50,"spending_limit":1,"label":%q}`, number, i, s.GeneratedLabel()))
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"page":%d,"per_page":100,"total":1000}`, strings.Join(cards, ","), number)
	})
	if cards, err := s.Unmanaged(t.Context(), "", false); err != nil || len(cards) != 200 || pages.Load() != 2 {
		t.Errorf("%d cards of %d pages, %v", len(cards), pages.Load(), err)
	}
}

func TestCardID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]struct{ reference, imported bool }{
		"card_9f2":                         {true, true},
		"card_a.b-c_d":                     {true, true},
		"card_Y2FyZA==":                    {true, true},
		"card_eu:1~a+b":                    {true, true},
		"4iahoy8o":                         {true, false}, // of a mocked provider
		"9f2b6a52-1f3c-4a35-9f4e-0d6d6b1e": {true, false},
		"":                                 {false, false},
		"card_":                            {false, false},
		"..":                               {false, false},
		"card_1/details":                   {false, false},
		"card_1?x=1":                       {false, false},
		"card_1\n":                         {false, false},
		" card_1":                          {false, false},
		"wh_1":                             {false, false},
		"txn_1":                            {false, false},
		"3ds_1":                            {false, false},
		"bin_ads_visa_us":                  {false, false},
		"card_" + strings.Repeat("a", 300): {false, false},
	} {
		resp := validator.StringResponse{}
		tfkit.CardID().ValidateString(t.Context(), validator.StringRequest{Path: path.Root("card_id"), ConfigValue: types.StringValue(id)}, &resp)
		if ok := !resp.Diagnostics.HasError(); ok != want.reference {
			t.Errorf("%q as a reference: accepted %v, want %v: %v", id, ok, want.reference, resp.Diagnostics)
		}
		if ok := tfkit.IsCardID(id); ok != want.imported {
			t.Errorf("%q for an import: accepted %v, want %v", id, ok, want.imported)
		}
	}
}

// What concerns the new cards of a plan together is said once, and only when all
// that was counted is one plan's.
func TestNewCardsOfOnePlan(t *testing.T) {
	t.Parallel()
	const alike = `Several new cards are labelled "ads"`
	for name, test := range map[string]struct {
		cards int
		label string
		want  []string
	}{
		"three without a label": {cards: 3},
		"one with a label":      {cards: 1, label: "ads"},
		"three with one label":  {cards: 3, label: "ads", want: []string{alike}},
	} {
		for _, ahead := range []int{0, 1} { // configurations that are validated and planned later
			s := against(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
			var said []string
			for range ahead {
				s.Validated()
			}
			for range test.cards {
				s.Validated()
				s.Planned()
				for _, warning := range s.AddNewCard(test.label) {
					said = append(said, warning.Summary())
				}
			}
			if ahead > 0 && said != nil {
				t.Errorf("%s, while others are to be planned: %q", name, said)
			}
			for range ahead {
				s.Planned()
			}
			for range 2 {
				for _, warning := range s.OfOnePlan() {
					said = append(said, warning.Summary())
				}
			}
			if !slices.Equal(said, test.want) {
				t.Errorf("%s: %q, want %q", name, said, test.want)
			}
		}
	}
}

// Every error says what came back, and what to do, in whole paragraphs.
func TestErrorDiagnosticSaysWhatToDo(t *testing.T) {
	t.Parallel()
	refused, lost := errors.New("connection refused"), errors.New("lost")
	sent := func(err error) error { return &transport.RequestError{Operation: "read card card_1", Err: err} }
	header := func(text string) error { return tls.RecordHeaderError{RecordHeader: [5]byte([]byte(text))} }
	from := func(op string, host net.IP) error {
		return &net.OpError{Op: op, Addr: &net.TCPAddr{IP: host}, Err: refused}
	}
	undecided := func(kind transport.MutationKind, err error, candidates ...transport.Candidate) error {
		return &transport.UndecidedError{Kind: kind, Operation: "fund card card_1", Attempts: 2, Key: "k1", Err: err, Candidates: candidates}
	}
	others := map[string]error{
		"plain http":           sent(header("HTTP/")),
		"no TLS":               sent(header("SSH-2")),
		"no connection":        sent(refused),
		"no sandbox":           sent(from("dial", net.IPv6loopback)),
		"a foreign host":       sent(from("dial", net.IPv4(192, 0, 2, 1))),
		"a lost read":          sent(from("read", net.IPv6loopback)),
		"no host":              sent(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "cards.example", IsNotFound: true}}),
		"a slow name":          sent(&net.DNSError{Name: "cards.example", IsTimeout: true}),
		"a proxy":              sent(&transport.ProxyError{Address: "10.0.0.1:3128", Err: errors.New("Forbidden")}),
		"interrupted":          sent(context.Canceled),
		"too slow":             sent(context.DeadlineExceeded),
		"another shape":        &transport.ShapeError{Field: "balance", Problem: "missing"},
		"undecided transfer":   undecided(transport.MutationMove, &transport.Error{Status: 500}),
		"undecided by 499":     undecided(transport.MutationMove, &transport.Error{Status: 499}),
		"undecided by a code":  undecided(transport.MutationMove, &transport.Error{Status: 499, Code: "conflict"}),
		"undecided issuance":   undecided(transport.MutationIssue, lost),
		"candidates":           undecided(transport.MutationIssue, lost, transport.Candidate{}),
		"undecided in outages": undecided(transport.MutationIssue, &transport.OutageError{Err: &transport.Error{Status: 503}}),
		"undecided webhook":    undecided(transport.MutationRegister, lost),
		"undecided freeze":     undecided(transport.MutationSetFrozen, lost),
	}
	for _, row := range sandboxtest.Table(t, "testdata/errors.txt", 2) {
		err := others[row[0]]
		delete(others, row[0])
		if err == nil {
			answer := &transport.Error{}
			if err = answer; json.Unmarshal([]byte(row[0]), answer) != nil { //nolint:musttag // its own names do
				t.Fatalf("%q is no error", row[0])
			}
		}
		d := session.ErrorDiagnostic("fund card card_1", err)
		sandboxtest.Equal(t, row[0], d.Summary()+": "+strings.ReplaceAll(d.Detail(), "\n\n", " ¶ "), "Could not fund card card_1: "+row[1])
	}
	if len(others) > 0 {
		t.Errorf("nothing is told of %v", others)
	}
}

// Terraform shows one of many warnings with the same title.
func TestLostResponseWarning(t *testing.T) {
	t.Parallel()
	one, other := session.LostResponseWarning("fund card card_1", true), session.LostResponseWarning("issue card card_2", true)
	if len(one) != 1 || one[0].Summary() != other[0].Summary() || !strings.HasPrefix(one[0].Detail(), "When asked to fund card card_1, the service's response was lost on the way") {
		t.Errorf("says %v and %v", one, other)
	}
	if diags := session.LostResponseWarning("fund card card_1", false); diags != nil {
		t.Errorf("nothing was lost, and it says %v", diags)
	}
}

// purse is a session with a service whose wallet and cards hold this, and how often the
// wallet was read. It cannot be read where it holds "".
func purse(t *testing.T, wallet, cards string) (*session.Session, *atomic.Int32) {
	t.Helper()
	reads := new(atomic.Int32)
	return against(t, func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		if wallet == "refused" { // as every call is
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error": "unauthorized", "message": "no such key"}`))
			return
		}
		if wallet == "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error": "forbidden", "message": "not with this key"}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"balance": %s, "currency": "USDT", "pending_deposits": 0.00, "cards_active": "many", "cards_total_balance": %s}`, wallet, cards)
	}), reads
}

// said is what a card's plan has to say.
func said(diags diag.Diagnostics) (text string) {
	for _, one := range diags {
		text += fmt.Sprintf("%s: %s. %s\n", one.Severity(), one.Summary(), one.Detail())
	}
	return text
}

func takes(amount usd.Amount) session.PlannedSpend {
	return session.PlannedSpend{Card: "card " + amount.String(), Taken: amount}
}

// What a plan takes from the wallet is said once, by a card that takes; and where it is to be
// refused, once more when what other cards hold cannot pay for it either.
func TestWalletCheck(t *testing.T) {
	t.Parallel()
	type step struct {
		planned session.PlannedSpend
		says    string
	}
	const unread = "The plan is not checked against the wallet. Could not see whether the wallet can pay for this plan. "
	keeps := session.PlannedSpend{Card: "kept", Holds: 50_00}
	for name, test := range map[string]struct {
		wallet, cards string
		check         session.WalletCheck
		steps         []step
		reads         int32
	}{
		"nothing is moved":  {"", "", "", []step{{takes(0), ""}, {keeps, ""}}, 0},
		"one cent over it":  {"100.00", "0.00", "", []step{{takes(100_00), ""}, {takes(1), "Warning: The plan takes at least 100.01 USD from a wallet that holds 100.00 USD"}, {takes(1), ""}}, 1},
		"a cent over none":  {"0.00", "0.00", "", []step{{takes(1), "at least 0.01 USD from a wallet that holds 0.00 USD"}}, 1},
		"the largest first": {"100.00", "0.00", "", []step{{takes(60_00), ""}, {takes(70_00), "Most goes to card 70.00 with 70.00 USD, card 60.00 with 60.00 USD."}}, 1},
		"refused":           {"100.00", "0.00", session.WalletCheckError, []step{{takes(100_01), "Error: The plan takes at least 100.01 USD"}, {takes(1), ""}}, 1},
		"off":               {"100.00", "0.00", session.WalletCheckOff, []step{{takes(100_01), ""}}, 0},
		"others may pay":    {"100.00", "50.00", "", []step{{takes(120_00), "Warning: The plan takes at least 120.00 USD"}, {takes(40_00), ""}}, 1},
		"they cannot":       {"100.00", "50.00", session.WalletCheckError, []step{{takes(120_00), "Warning: "}, {takes(40_00), "Error: The plan takes at least 160.00 USD"}}, 1},
		"a card that is kept": {
			"100.00", "50.00", session.WalletCheckError,
			[]step{{takes(120_00), "Warning: "}, {keeps, ""}, {takes(1), "Error: The plan takes at least 120.01 USD"}},
			1,
		},
		"it cannot be read":   {"", "", "", []step{{takes(100_00), "Warning: " + unread}, {takes(100_00), ""}}, 1},
		"it has to be":        {"", "", session.WalletCheckError, []step{{takes(100_00), "Error: " + unread}}, 1},
		"an outage":           {"refused", "", "", []step{{takes(100_00), ""}}, 1}, // which every call tells
		"in spite of one":     {"refused", "", session.WalletCheckError, []step{{takes(100_00), "Error: The plan is not checked against the wallet"}}, 1},
		"it is no number":     {`"many"`, "0.00", "", []step{{takes(1), unread}}, 1},
		"it is too much":      {"1e18", "0.00", "", []step{{takes(1), unread}}, 1},
		"the cards lack":      {"100.00", "null", "", []step{{takes(100_00), ""}, {takes(1), "cards_total_balance missing"}, {takes(1), ""}}, 1},
		"it pays for another": {"100.00", "0.00", "", []step{{session.PlannedSpend{Taken: 200_00, Returned: 100_00}, ""}, {takes(1), "at least 100.01 USD"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, test.wallet, test.cards)
			s.WalletCheck = test.check
			for _, step := range test.steps {
				if text := said(s.Spend(t.Context(), step.planned)); (text == "") != (step.says == "") || !strings.Contains(text, step.says) {
					t.Errorf("%s says %q, want %q", step.planned.Card, text, step.says)
				}
			}
			if n := reads.Load(); n != test.reads {
				t.Errorf("the wallet was read %d times, want %d", n, test.reads)
			}
		})
	}
}

// In whatever order a plan's cards come, a plan that can be paid is not refused, and of one
// that cannot, exactly one card which takes money tells, of all.
func TestOrderOfCards(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			payable := n%2 == 0
			returns := session.PlannedSpend{Card: "ended", Holds: 100_00}
			if payable {
				returns.Returned = 100_00
			}
			plan := []session.PlannedSpend{takes(60_00), takes(40_00), takes(50_00), takes(10_00), returns, {Card: "kept", Holds: 100_00}}
			late := 4 // those that take nothing
			if n >= 4 {
				rand.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
				late = len(plan)
			}
			s, reads := purse(t, "60.00", "200.00")
			s.WalletCheck = session.WalletCheckError
			var beside sync.WaitGroup
			told := make([]string, len(plan))
			for i, card := range plan {
				if i == late {
					sandboxtest.Eventually(t, func() bool { return reads.Load() > 0 })
				}
				beside.Go(func() { told[i] = said(s.Spend(t.Context(), card)) })
			}
			beside.Wait()
			const want = "Error: The plan takes at least 160.00 USD from a wallet that holds 60.00 USD. Loads, issuance fees, funds and top-ups planned so far, " +
				"less what they return, pass the wallet's balance by 100.00 USD. Most goes to card 60.00 with 60.00 USD, card 50.00 with 50.00 USD, card 40.00 with 40.00 USD. "
			for i, text := range told {
				if text != "" && (payable || plan[i].Taken == 0) {
					t.Errorf("payable: %t, %s says %s", payable, plan[i].Card, text)
				}
			}
			if all := strings.Join(told, ""); !payable && (strings.Count(all, "Error: ") != 1 || !strings.HasPrefix(all, want)) {
				t.Errorf("of %v says %s", plan, all)
			}
		})
	}
}

// What a plan takes is bounded whatever returns. A card that would exceed the bound is refused
// without a look at the wallet, and does not count.
func TestMaxTakenPerPlan(t *testing.T) {
	t.Parallel()
	const over = "Error: Plan exceeds max_taken_per_plan. With this card, the plan takes 300.01 USD so far, and max_taken_per_plan is 300.00 USD."
	for name, test := range map[string]struct {
		planned []session.PlannedSpend
		says    string
	}{
		"as much":               {[]session.PlannedSpend{takes(200_00), takes(100_00)}, ""},
		"a cent more":           {[]session.PlannedSpend{takes(200_00), takes(100_00), takes(1)}, over},
		"less what others give": {[]session.PlannedSpend{{Returned: 1000_00}, takes(300_01)}, over},
		"less its own card":     {[]session.PlannedSpend{{Taken: 300_01, Returned: 300_00}}, over},
		"which never helps":     {[]session.PlannedSpend{{Taken: 50_00, Returned: 350_00}, takes(250_01)}, over},
		"what may be made":      {[]session.PlannedSpend{{Taken: 100_00, Doubtful: 200_00}}, ""},
		"what may be, and more": {[]session.PlannedSpend{{Returned: 50_00, Doubtful: 300_00}, takes(1)}, over},
		"planned again":         {[]session.PlannedSpend{takes(100_00), {Taken: 300_00, Again: true, CountedTaken: 100_00}}, ""},
		"planned again, over":   {[]session.PlannedSpend{takes(100_00), {Taken: 300_01, Again: true, CountedTaken: 100_00}}, over},
		"after a withdrawal":    {[]session.PlannedSpend{{Returned: 100_00}, {Taken: 300_00, Again: true, Counted: -100_00}}, ""},
		"one that does not fit": {[]session.PlannedSpend{takes(200_00), takes(100_01), takes(100_00)}, over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, "1.00", "0.00")
			s.WalletCheck = session.WalletCheckOff
			s.MaxTakenPerPlan = new(usd.Amount(300_00))
			for range 1000 { // whatever else is about to be planned
				s.Validated()
			}
			text := ""
			for _, planned := range test.planned {
				text += said(s.Spend(t.Context(), planned))
			}
			if (text == "") != (test.says == "") || !strings.HasPrefix(text, test.says) || reads.Load() > 0 {
				t.Errorf("says %q, want %q", text, test.says)
			}
		})
	}
}

// The first refusal is in full, and each other card that would exceed the bound is refused too:
// in a process that plans and applies, the first one alone would keep no other from being issued.
func TestMaxTakenPerPlanRefusesEachCard(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "1000.00", "0.00")
	s.MaxTakenPerPlan = new(usd.Amount(300_00))
	for i := range 3 {
		text := said(s.Spend(t.Context(), takes(300_01)))
		inFull := strings.Contains(text, "Most goes to card 300.01 with 300.01 USD.") && strings.Contains(text, "raise max_taken_per_plan")
		if !strings.HasPrefix(text, "Error: Plan exceeds max_taken_per_plan. ") || inFull != (i == 0) {
			t.Errorf("card %d says %q", i, text)
		}
	}
	if text := said(s.Spend(t.Context(), takes(300_00))); text != "" {
		t.Errorf("what fits says %q", text)
	}
}
