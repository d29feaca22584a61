package card_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// example is a documented example.
func example(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCardDataSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	issued := issue(f.s, map[string]any{"amount": 120.5, "label": "search", "spending_limit": 900})
	read, diags := f.protocol().ReadDataSource("vcard_card", object{"id": issued.ID})
	f.succeed(diags)
	f.same("the card", object{
		"id": issued.ID, "bin_id": bin, "network": "visa", "status": "active", "label": "search",
		"balance": acctest.Number("120.5"), "spending_limit": acctest.Number("900"),
	}, read)
	for name, form := range map[string]string{"last4": `^\d{4}$`, "created_at": `^\d{4}-\d\d-\d\dT.*Z$`} {
		if got := plain(read[name]); !regexp.MustCompile(form).MatchString(got) {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestCardDataSourceStatesAndErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	unlabelled := issue(s, map[string]any{"amount": 50})
	s.Terminate(unlabelled.ID)
	read, diags := p.ReadDataSource("vcard_card", object{"id": unlabelled.ID})
	if diags.Errors() != "" || read["status"] != "terminated" || read["label"] != nil || read["balance"] != acctest.Number("0") {
		t.Errorf("a terminated card without a label reads %v, %s", read, diags.Errors())
	}

	for name, test := range map[string]struct {
		id    string
		words []string
	}{
		"not there":     {"card_none", []string{"read card card_none", "404 (not_found)", "the id is wrong", "another account"}},
		"not a card id": {"wh_1", []string{"id", "must be a card id, of the form card_…", "wh_1"}},
		"only a prefix": {"card_", []string{"must be a card id"}},
		"a path":        {"card_1/details", []string{"must be a card id"}},
	} {
		before := len(requests(s))
		_, diags := p.ReadDataSource("vcard_card", object{"id": test.id})
		sayAll(t, name, diags.Errors(), test.words...)
		if calls := len(requests(s)) - before; name != "not there" && calls != 0 {
			t.Errorf("%s: %d calls were made", name, calls)
		}
	}
}

func TestCardDataSourceByLabel(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	twin := issue(s, map[string]any{"amount": 61, "label": "newest"})
	again := issue(s, map[string]any{"amount": 62, "label": "terminated"})
	for name, c := range map[string]struct {
		config object
		want   object // nil when it is refused
		words  []string
	}{
		"frozen":     {object{"label": "frozen"}, object{"id": ids["frozen"], "status": "frozen"}, nil},
		"a live one": {object{"label": "terminated"}, object{"id": again.ID, "balance": acctest.Number("62")}, nil},
		"oldest":     {object{"label": "oldest"}, object{"id": ids["oldest"]}, nil},
		"or so":      {object{"id": ids["oldest"], "label": acctest.Unknown}, object{"id": ids["oldest"]}, nil},
		"two":        {object{"label": "newest"}, nil, []string{"2 live cards are labelled", twin.ID, "61.00", ids["newest"], "54.00"}},
		"none":       {object{"label": "Frozen"}, nil, []string{"No live card is labelled"}},
		"neither":    {object{}, nil, []string{"id", "label"}},
		"both":       {object{"id": "card_1", "label": "x"}, nil, []string{"id", "label"}},
	} {
		read, diags := s.Protocol(nil).ReadDataSource("vcard_card", c.config)
		if sayAll(t, name, diags.Errors(), c.words...); (diags.Errors() != "") != (c.want == nil) {
			t.Errorf("%s: %s", name, diags.Errors())
		}
		for attribute, want := range c.want {
			if got := plain(read[attribute]); got != plain(want) {
				t.Errorf("%s: %s is %s, want %s", name, attribute, got, plain(want))
			}
		}
	}
}

func TestCardDataSourcesNeedAKnownProvider(t *testing.T) {
	t.Parallel()
	p := acctest.Configure(t, object{"base_url": acctest.Unknown, "api_key": "sk_live_x"})
	for name, config := range map[string]object{"vcard_card": {"id": "card_1"}, "vcard_cards": {}} {
		_, diags := p.ReadDataSource(name, config)
		sayAll(t, name, diags.Errors(), "provider's configuration is not known yet", "-target")
	}
}

func TestCardsDataSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	frozen := issueFleet(f.s)["frozen"]
	read, diags := f.protocol().ReadDataSource("vcard_cards", object{"status": "frozen"})
	f.succeed(diags)
	card := read["cards"].([]any)[0].(object)
	f.same("the card", object{
		"id": frozen, "bin_id": bin, "network": "visa", "last4": f.s.Get("/cards/" + frozen).Text("last4"), "status": "frozen",
		"balance": acctest.Number("51"), "spending_limit": acctest.Number("50000"), "label": "frozen",
	}, card)
	if len(card) != 8 || plain(read["ids"]) != "["+frozen+"]" {
		t.Errorf("%v is listed, with %v", read["ids"], sortedKeys(card))
	}
}

// issueFleet issues cards in all states and returns their ids by label. The
// newest has the label "newest".
func issueFleet(s *acctest.Service) map[string]string {
	ids := map[string]string{}
	add := func(label string, amount int, on string) {
		var issued service
		s.Post("/cards", map[string]any{"bin_id": on, "label": label, "amount": amount}).Into(&issued)
		ids[label] = issued.ID
	}
	add("oldest", 50, bin)
	add("frozen", 51, bin)
	s.Freeze(ids["frozen"])
	add("terminated", 52, bin)
	s.Terminate(ids["terminated"])
	add("other bin", 53, "bin_ads_mastercard_us")
	add("newest", 54, bin)
	return ids
}

// capped is s with pages of at most so many cards, whatever is asked for.
func capped(s *acctest.Service, size string) *acctest.Service {
	return s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if query := r.URL.Query(); query.Has("per_page") {
			query.Set("per_page", size)
			r.URL.RawQuery = query.Encode()
		}
		return false
	})
}

func TestCardsDataSourceFilters(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for name, test := range map[string]struct {
		config object
		want   []string
	}{
		"live ones":        {object{}, []string{"newest", "other bin", "oldest", "frozen"}},
		"active":           {object{"status": "active"}, []string{"newest", "other bin", "oldest"}},
		"terminated":       {object{"status": "terminated"}, []string{"terminated"}},
		"BIN":              {object{"bin_id": "bin_ads_mastercard_us"}, []string{"other bin"}},
		"both":             {object{"bin_id": bin, "status": "active"}, []string{"newest", "oldest"}},
		"nothing found":    {object{"bin_id": "bin_general_visa_eu"}, nil},
		"label":            {object{"label": "oldest"}, []string{"oldest"}},
		"no such label":    {object{"label": "old"}, nil},
		"label prefix":     {object{"label_prefix": "o"}, []string{"other bin", "oldest"}},
		"label and prefix": {object{"label": "newest", "label_prefix": "o"}, nil},
	} {
		for size, p := range map[string]*acctest.Protocol{"100": s.Protocol(nil), "2": capped(s, "2").Protocol(nil)} {
			read, diags := p.ReadDataSource("vcard_cards", test.config)
			if text := diags.Errors(); text != "" {
				t.Fatal(text)
			}
			want := []any{}
			for _, label := range test.want {
				want = append(want, ids[label])
			}
			cards, _ := read["cards"].([]any)
			listed := []any{}
			for _, card := range cards {
				listed = append(listed, card.(object)["id"])
			}
			if got, _ := read["ids"].([]any); !slices.Equal(got, want) || !slices.Equal(listed, want) {
				t.Errorf("%s, pages of %s: ids are %v and cards %v, want %v", name, size, got, listed, want)
			}
		}
	}
	_, diags := s.Protocol(nil).ReadDataSource("vcard_cards", object{"status": "lost"})
	sayAll(t, "an unknown status", diags.Errors(), "status", "active", "frozen", "terminated", "lost")
}

func TestCardsDataSourceIsNeverCutShort(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issueFleet(s)
	read, diags := failingPage(s, "2").Protocol(nil).ReadDataSource("vcard_cards", object{})
	sayAll(t, "a page that fails", diags.Errors(), "list the cards", "400 (invalid_request)", "no such page today")
	if read["ids"] != nil {
		t.Errorf("a list that failed has the ids %v", read["ids"])
	}
}

// failingPage is s with pages of two cards, of which one is refused.
func failingPage(s *acctest.Service, number string) *acctest.Service {
	return capped(s, "2").Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Get("page") == number && refuse(w, http.StatusBadRequest, "invalid_request", "no such page today")
	})
}

// refuse answers with an error of the service, and returns true.
func refuse(w http.ResponseWriter, status int, code, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"error": %q, "message": %q}`, code, message)
	return true
}

// request is an API call as the sandbox remembers it.
type request struct{ Method, Path, Query string }

func requests(s *acctest.Service) []request {
	var log struct{ Data []request }
	s.Get("/_sandbox/requests").Into(&log)
	return log.Data
}

// sayAll checks what a user is told.
func sayAll(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s: %q is missing in %q", what, word, text)
		}
	}
}
