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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
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
	const what = "a service endpoint is failing"
	for _, want := range [][2]string{{strings.ToUpper(what[:1]) + what[1:], "Other requests to this endpoint (GET /bins) may fail for the same reason."}, {"Could not list the BINs: " + what, ""}} {
		_, err := s.Bins(t.Context())
		if d := session.ErrorDiagnostic("list the BINs", err); d.Summary() != want[0] || !strings.Contains(d.Detail(), want[1]) || (d.Detail() == "") != (want[1] == "") {
			t.Errorf("says %q: %q, want %q", d.Summary(), d.Detail(), want)
		}
	}
}

// New labels are compared with at most the newest thousand active and frozen cards, which are
// read once for all new cards.
func TestNewestCards(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		active, frozen int // pages
		requests       int32
		truncated      bool
	}{
		"one page of each":   {active: 1, frozen: 1, requests: 4},
		"ten pages":          {active: 10, frozen: 1, requests: 13},
		"more active cards":  {active: 30, frozen: 1, requests: 13, truncated: true},
		"more frozen cards":  {active: 1, frozen: 30, requests: 13, truncated: true},
		"no card whatsoever": {requests: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			var s *session.Session
			s = against(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				pages, status := test.active, r.FormValue("status")
				if status == "frozen" {
					pages = test.frozen
				}
				page, _ := strconv.Atoi(r.FormValue("page"))
				var cards []string
				for i := range api.MaxPerPage {
					if page > pages {
						break
					}
					label := "ads"
					if i == 0 {
						label = s.GeneratedLabel()
					}
					cards = append(cards, fmt.Sprintf(`{"id":"card_%s_%d_%d","bin_id":"b","status":%q,"balance":50,"spending_limit":1,"label":%q}`, status, page, i, status, label))
				}
				_, _ = fmt.Fprintf(w, `{"data":[%s],"page":%d,"per_page":100,"total":%d}`, strings.Join(cards, ","), page, pages*api.MaxPerPage)
			})
			var callers sync.WaitGroup
			for range 10 {
				callers.Go(func() {
					newest, err := s.NewestCards(t.Context())
					pages := min(test.active, 10) + min(test.frozen, 10)
					labelled := len(newest.CardsWithLabel(" ads "))
					if err != nil || newest.Err != nil || labelled != 99*pages || newest.GeneratedCount != pages || newest.Truncated != test.truncated {
						t.Errorf("%d labelled and %d generated of %d pages, truncated %t: %v, %v", labelled, newest.GeneratedCount, pages, newest.Truncated, err, newest.Err)
					}
				})
			}
			callers.Wait()
			if n := requests.Load(); n > test.requests {
				t.Errorf("%d requests, want at most %d", n, test.requests)
			}
		})
	}
}

// Labels that an interrupted run has generated count for a week.
func TestGeneratedLabelsCountForAWeek(t *testing.T) {
	t.Parallel()
	var labels []string
	s := against(t, func(w http.ResponseWriter, r *http.Request) {
		var cards []string
		for i, label := range labels {
			cards = append(cards, fmt.Sprintf(`{"id":"card_%d","bin_id":"b","status":"active","balance":50,"spending_limit":1,"label":%q}`, i, label))
		}
		if r.FormValue("status") == "frozen" {
			cards = nil
		}
		_, _ = fmt.Fprintf(w, `{"data":[%s],"page":1,"per_page":100,"total":%d}`, strings.Join(cards, ","), len(cards))
	})
	today := time.Now().UTC()
	for _, age := range []int{0, 6, 9, 400} {
		labels = append(labels, "tf-"+today.AddDate(0, 0, -age).Format("20060102")+"-abcdefghij234567klmn")
	}
	labels = append(labels, "other-"+today.Format("20060102")+"-abcdefghij234567klmn", "tf-20269999-abcdefghij234567klmn", "tf-1")
	newest, err := s.NewestCards(t.Context())
	if err != nil || newest.GeneratedCount != 2 {
		t.Errorf("%d were generated within a week, want 2: %v, %v", newest.GeneratedCount, err, newest.Err)
	}
}

func TestFirstTime(t *testing.T) {
	t.Parallel()
	s := session.New(nil)
	for _, test := range []struct {
		topic session.Topic
		key   string
		want  bool
	}{
		{session.TopicNewLabel, "ads", true},
		{session.TopicNewLabel, "ads", false},
		{session.TopicNewLabel, "mail", true},
		{session.TopicSharedLabel, "ads", true},
		{session.TopicSharedLabel, "ads", false},
	} {
		if got := s.FirstTime(test.topic, test.key); got != test.want {
			t.Errorf("%v of %s: %t, want %t", test.topic, test.key, got, test.want)
		}
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

// Every error says what came back, and what to do, in whole paragraphs.
func TestErrorDiagnosticSaysWhatToDo(t *testing.T) {
	t.Parallel()
	refused, lost := errors.New("connection refused"), errors.New("lost")
	sent := func(err error) error {
		return &transport.RequestError{Operation: "read card card_1", Method: "GET", Path: "/cards/card_1", Host: "cards.example", Err: err}
	}
	fund := func(status int, code string) error {
		return &transport.Error{Operation: "fund card card_1", Method: "POST", Path: "/cards/card_1/fund", Status: status, Code: code}
	}
	header := func(text string) error { return tls.RecordHeaderError{RecordHeader: [5]byte([]byte(text))} }
	from := func(op string, host net.IP) error {
		return &net.OpError{Op: op, Addr: &net.TCPAddr{IP: host}, Err: refused}
	}
	undecided := func(kind transport.MutationKind, err error, candidates ...transport.Candidate) error {
		return &transport.UndecidedError{Kind: kind, Operation: "fund card card_1", Key: "k1", Err: err, Candidates: candidates}
	}
	others := map[string]error{
		"plain http":           sent(header("HTTP/")),
		"no TLS":               sent(header("SSH-2")),
		"no connection":        sent(refused),
		"no sandbox":           sent(from("dial", net.IPv6loopback)),
		"a foreign host":       sent(from("dial", net.IPv4(192, 0, 2, 1))),
		"a slow connection":    sent(&net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, Err: context.DeadlineExceeded}),
		"a lost read":          sent(from("read", net.IPv6loopback)),
		"no host":              sent(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "cards.example", IsNotFound: true}}),
		"a slow name":          sent(&net.DNSError{Name: "cards.example", IsTimeout: true}),
		"a proxy":              sent(&transport.ProxyError{Address: "10.0.0.1:3128", Err: errors.New("Forbidden")}),
		"interrupted":          sent(context.Canceled),
		"too slow":             sent(context.DeadlineExceeded),
		"a long pause":         sent(&ratelimit.PausedError{Until: time.Date(2026, time.March, 1, 14, 30, 0, 0, time.UTC)}),
		"another shape":        &transport.ShapeError{Field: "balance", Problem: "is missing"},
		"undecided transfer":   undecided(transport.MutationMove, fund(500, "")),
		"undecided by 499":     undecided(transport.MutationMove, fund(499, "")),
		"undecided by a code":  undecided(transport.MutationMove, fund(499, "conflict")),
		"undecided issuance":   undecided(transport.MutationIssue, lost),
		"candidates":           undecided(transport.MutationIssue, lost, transport.Candidate{}),
		"undecided in outages": undecided(transport.MutationIssue, &transport.OutageError{Err: fund(503, "")}),
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

// A panic during a read is a bug of the provider, so the error does not blame the network.
func TestErrorDiagnosticOfAPanic(t *testing.T) {
	t.Parallel()
	panicked := &transport.RequestError{Sent: true, Err: &crash.Error{Type: "string", Stack: "  main"}}
	detail := session.ErrorDiagnostic("read card card_1", panicked).Detail()
	if !strings.Contains(detail, "Please report the bug") || strings.Contains(detail, "network") {
		t.Errorf("the detail is %q", detail)
	}
}

// Terraform shows one of many warnings with the same title.
func TestLostResponseWarning(t *testing.T) {
	t.Parallel()
	one, other := session.LostResponseWarning("fund card card_1", true), session.LostResponseWarning("issue card card_2", true)
	if len(one) != 1 || one[0].Summary() != other[0].Summary() || !strings.HasPrefix(one[0].Detail(), "The response to the request to fund card card_1 was lost") {
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

// textOf is what a card's plan reports.
func textOf(diags diag.Diagnostics) (text string) {
	for _, one := range diags {
		text += fmt.Sprintf("%s: %s. %s\n", one.Severity(), one.Summary(), one.Detail())
	}
	return text
}

func takes(amount usd.Amount) session.PlannedSpend {
	return session.PlannedSpend{CardName: "card " + amount.String(), Taken: amount}
}

// The first card with which a plan takes more than the wallet holds warns. With an error
// instead, each card is refused that takes more than other cards could return.
func TestWalletCheck(t *testing.T) {
	t.Parallel()
	type step struct {
		planned session.PlannedSpend
		says    string // "" for nothing
	}
	const (
		warning    = "Warning: Wallet cannot cover this plan. "
		mayBeShort = "Warning: Wallet may not cover this plan. "
		refusal    = "Error: Wallet cannot cover this plan. "
		unread     = "Warning: Plan cannot be checked against the wallet. The provider could not read the wallet. "
		unreadable = "Error: Plan cannot be checked against the wallet. "
	)
	keeps := session.PlannedSpend{CardName: "kept", CardBalance: 50_00}
	for name, test := range map[string]struct {
		wallet, cards string
		check         session.WalletCheck
		steps         []step
		reads         int32
	}{
		"nothing is moved":  {"", "", "", []step{{takes(0), ""}, {keeps, ""}}, 0},
		"one cent over it":  {"100.00", "0.00", "", []step{{takes(100_00), ""}, {takes(1), warning + "This plan takes 100.01 USD so far; the wallet holds 100.00 USD."}, {takes(1), ""}}, 1},
		"a cent over none":  {"0.00", "0.00", "", []step{{takes(1), warning + "This plan takes 0.01 USD so far; the wallet holds 0.00 USD."}}, 1},
		"refused":           {"100.00", "0.00", session.WalletCheckError, []step{{takes(100_01), refusal + "This plan takes 100.01 USD so far"}, {takes(1), refusal + "This plan takes 100.02 USD so far"}}, 1},
		"off":               {"100.00", "0.00", session.WalletCheckOff, []step{{takes(100_01), ""}}, 0},
		"others may pay":    {"100.00", "50.00", "", []step{{takes(120_00), mayBeShort}, {takes(40_00), ""}}, 1},
		"they cannot":       {"100.00", "50.00", session.WalletCheckError, []step{{takes(120_00), mayBeShort}, {takes(40_00), refusal + "This plan takes 160.00 USD so far"}}, 1},
		"kept before":       {"100.00", "50.00", session.WalletCheckError, []step{{keeps, ""}, {takes(120_00), refusal + "This plan takes 120.00 USD so far"}}, 1},
		"kept afterwards":   {"100.00", "50.00", session.WalletCheckError, []step{{takes(120_00), mayBeShort}, {keeps, refusal + "This plan takes 120.00 USD so far"}, {keeps, ""}, {takes(1), refusal}}, 1},
		"planned again":     {"100.00", "50.00", session.WalletCheckError, []step{{session.PlannedSpend{Taken: 120_00, IsReplan: true}, ""}, {session.PlannedSpend{Taken: 40_00, IsReplan: true}, refusal}}, 1},
		"it cannot be read": {"", "", "", []step{{takes(100_00), unread}, {takes(100_00), ""}}, 1},
		"it has to be":      {"", "", session.WalletCheckError, []step{{takes(100_00), unreadable}, {takes(1), unreadable}, {takes(0), ""}}, 1},
		"an outage":         {"refused", "", "", []step{{takes(100_00), ""}}, 1}, // every call reports it
		"in spite of one":   {"refused", "", session.WalletCheckError, []step{{takes(100_00), unreadable}}, 1},
		"it is no number":   {`"many"`, "0.00", "", []step{{takes(1), unread}}, 1},
		"it is too much":    {"1e18", "0.00", "", []step{{takes(1), unread}}, 1},
		"the cards lack":    {"100.00", "null", "", []step{{takes(100_00), ""}, {takes(1), unread}, {takes(1), ""}}, 1},
		"one pays another":  {"100.00", "0.00", "", []step{{session.PlannedSpend{Taken: 200_00, Returned: 100_00}, ""}, {takes(1), warning + "This plan takes 100.01 USD so far"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, test.wallet, test.cards)
			s.WalletCheck = test.check
			for i, step := range test.steps {
				if text := textOf(s.CountSpend(t.Context(), step.planned)); (text == "") != (step.says == "") || !strings.HasPrefix(text, step.says) {
					t.Errorf("step %d says %q, want %q", i, text, step.says)
				}
			}
			if n := reads.Load(); n != test.reads {
				t.Errorf("the wallet was read %d times, want %d", n, test.reads)
			}
		})
	}
}

// A plan that cannot be checked because of a bug is refused like one whose wallet cannot be read.
func TestWalletCheckThatPanics(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "100.00", "0.00")
	s.WalletCheck = session.WalletCheckError
	s.Client = &api.Client{Client: new(transport.Client)} // which panics when it reads
	text := textOf(s.CountSpend(t.Context(), takes(1)))
	if !strings.HasPrefix(text, "Error: Plan cannot be checked against the wallet. ") {
		t.Errorf("says %q", text)
	}
}

// Labels that cannot be compared because of a bug are reported like those that cannot be read.
func TestNewestCardsThatPanic(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "100.00", "0.00")
	s.Client = &api.Client{Client: new(transport.Client)} // which panics when it reads
	newest, err := s.NewestCards(t.Context())
	if err != nil || newest.Err == nil {
		t.Errorf("read %+v, %v", newest, err)
	}
}

// A card that Terraform plans a second time, to replace it, is paid once.
func TestUpfrontCostOfReplacements(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "300.00", "0.00")
	for range 2 {
		s.CountSpend(t.Context(), session.PlannedSpend{Taken: 101_00, Returned: 100_00})
		s.CountSpend(t.Context(), session.PlannedSpend{Taken: 101_00, IsReplan: true, CountedNet: 1_00, CountedTaken: 101_00})
	}
	upfront, wallet, exceeds := s.UpfrontCost(t.Context())
	if upfront != 202_00 || wallet != 300_00 || exceeds {
		t.Errorf("takes %s of %s USD, and exceeds it: %t", upfront, wallet, exceeds)
	}
}

// If only the wallet's endpoint fails, no other call reports it.
func TestWalletCheckWithAFailingEndpoint(t *testing.T) {
	t.Parallel()
	s := against(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	text := textOf(s.CountSpend(t.Context(), takes(100_00)))
	want := "Warning: Plan cannot be checked against the wallet. The provider could not read the wallet. GET /wallet/balance returned 500."
	if !strings.HasPrefix(text, want) {
		t.Errorf("says %q, want %q", text, want)
	}
	if text := textOf(s.CountSpend(t.Context(), takes(100_00))); text != "" {
		t.Errorf("says again: %q", text)
	}
}

func TestWalletCheckNamesTheLargest(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "200.00", "0.00")
	var text string
	for _, amount := range []usd.Amount{60_00, 10_00, 70_00, 50_00, 40_00} {
		text += textOf(s.CountSpend(t.Context(), takes(amount)))
	}
	if want := "The largest amounts are:\n  - 70.00 USD for card 70.00\n  - 60.00 USD for card 60.00\n  - 50.00 USD for card 50.00\n"; !strings.Contains(text, want) {
		t.Errorf("says %q, want %q", text, want)
	}
}

// In whatever order a plan's cards come, a plan that can be paid is not refused, and one that
// cannot is.
func TestOrderOfCards(t *testing.T) {
	t.Parallel()
	for _, payable := range []bool{true, false} {
		for range 20 {
			returns := session.PlannedSpend{CardName: "ended", CardBalance: 100_00}
			if payable {
				returns.Returned = 100_00
			}
			plan := []session.PlannedSpend{takes(60_00), takes(40_00), takes(50_00), takes(10_00), returns, {CardName: "kept", CardBalance: 100_00}}
			rand.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
			s, _ := purse(t, "60.00", "200.00")
			s.WalletCheck = session.WalletCheckError
			var cards sync.WaitGroup
			said := make([]string, len(plan))
			for i, card := range plan {
				cards.Go(func() { said[i] = textOf(s.CountSpend(t.Context(), card)) })
			}
			cards.Wait()
			if refused := strings.Contains(strings.Join(said, ""), "Error: "); refused == payable {
				t.Errorf("payable: %t, and of %v says %q", payable, plan, said)
			}
		}
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
		"planned again":         {[]session.PlannedSpend{takes(100_00), {Taken: 300_00, IsReplan: true, CountedTaken: 100_00}}, ""},
		"planned again, over":   {[]session.PlannedSpend{takes(100_00), {Taken: 300_01, IsReplan: true, CountedTaken: 100_00}}, over},
		"after a withdrawal":    {[]session.PlannedSpend{{Returned: 100_00}, {Taken: 300_00, IsReplan: true, CountedNet: -100_00}}, ""},
		"one that does not fit": {[]session.PlannedSpend{takes(200_00), takes(100_01), takes(100_00)}, over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, reads := purse(t, "1.00", "0.00")
			s.WalletCheck = session.WalletCheckOff
			s.MaxTakenPerPlan = new(usd.Amount(300_00))
			text := ""
			for _, planned := range test.planned {
				text += textOf(s.CountSpend(t.Context(), planned))
			}
			if (text == "") != (test.says == "") || !strings.HasPrefix(text, test.says) || reads.Load() > 0 {
				t.Errorf("says %q, want %q", text, test.says)
			}
		})
	}
}

// A replaced card is planned twice and named once.
func TestLargestAmountsNameEachPlanOnce(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "1000.00", "0.00")
	s.WalletCheck = session.WalletCheckOff
	s.MaxTakenPerPlan = new(usd.Amount(300_00))
	s.CountSpend(t.Context(), takes(200_00))
	s.CountSpend(t.Context(), session.PlannedSpend{CardName: "the new card", Taken: 200_00, IsReplan: true, CountedTaken: 200_00})
	text := textOf(s.CountSpend(t.Context(), takes(101_00)))
	want := "The largest amounts are:\n  - 200.00 USD for card 200.00\n  - 101.00 USD for card 101.00"
	if !strings.Contains(text, want) || strings.Contains(text, "the new card") {
		t.Errorf("the error says %q, want %q", text, want)
	}
}

// The first refusal is in full, and each other card that would exceed the bound is refused too:
// in a process that plans and applies, the first one alone would keep no other from being issued.
func TestMaxTakenPerPlanRefusesEachCard(t *testing.T) {
	t.Parallel()
	s, _ := purse(t, "1000.00", "0.00")
	s.MaxTakenPerPlan = new(usd.Amount(300_00))
	for i := range 3 {
		text := textOf(s.CountSpend(t.Context(), takes(300_01)))
		inFull := strings.Contains(text, "The largest amount is 300.01 USD for card 300.01.") && strings.Contains(text, "raise max_taken_per_plan")
		if !strings.HasPrefix(text, "Error: Plan exceeds max_taken_per_plan. ") || inFull != (i == 0) {
			t.Errorf("card %d says %q", i, text)
		}
	}
	if text := textOf(s.CountSpend(t.Context(), takes(300_00))); text != "" {
		t.Errorf("what fits says %q", text)
	}
}
