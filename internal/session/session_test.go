package session_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// against returns a session with a service that responds like this.
func against(t *testing.T, respond http.HandlerFunc) *session.Session {
	t.Helper()
	server := httptest.NewServer(respond)
	t.Cleanup(server.Close)
	client, err := api.New(api.Config{BaseURL: server.URL + "/api/v1", APIKey: "sk_live_1"})
	if err != nil {
		t.Fatal(err)
	}
	return session.New(client)
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
