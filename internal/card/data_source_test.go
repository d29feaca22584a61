package card_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

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

// ofData checks an attribute of a data source or of an output.
func ofData(address, attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), want)
}

func TestCardDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issued := issue(s, map[string]any{"amount": 120.5, "label": "search", "spending_limit": 900})
	s.Test(t, resource.TestStep{
		Config:          s.Provider() + example(t, "data-sources/vcard_card/data-source.tf"),
		ConfigVariables: config.Variables{"card_id": config.StringVariable(issued.ID)},
		ConfigStateChecks: []statecheck.StateCheck{
			ofData("data.vcard_card.shared", "id", knownvalue.StringExact(issued.ID)),
			ofData("data.vcard_card.shared", "bin_id", knownvalue.StringExact(bin)),
			ofData("data.vcard_card.shared", "network", knownvalue.StringExact("visa")),
			ofData("data.vcard_card.shared", "last4", knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}$`))),
			ofData("data.vcard_card.shared", "status", knownvalue.StringExact("active")),
			ofData("data.vcard_card.shared", "balance", number("120.50")),
			ofData("data.vcard_card.shared", "spending_limit", number("900")),
			ofData("data.vcard_card.shared", "label", knownvalue.StringExact("search")),
			ofData("data.vcard_card.shared", "created_at", knownvalue.StringRegexp(regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`))),
		},
	})
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
	byLabel := func(label string) string {
		return s.Provider() + fmt.Sprintf("data \"vcard_card\" \"c\" {\n  label = %q\n}\n", label)
	}
	// The CLI wraps words at any place, so that a test sees them one by one.
	words := func(all ...string) *regexp.Regexp {
		return regexp.MustCompile(`(?s)` + strings.Join(all, `.*`))
	}
	s.Test(t,
		resource.TestStep{Config: byLabel("frozen"), ConfigStateChecks: []statecheck.StateCheck{
			ofData("data.vcard_card.c", "id", knownvalue.StringExact(ids["frozen"])),
			ofData("data.vcard_card.c", "status", knownvalue.StringExact("frozen")),
			ofData("data.vcard_card.c", "created_at", knownvalue.NotNull()),
		}},
		resource.TestStep{Config: byLabel("terminated"), ConfigStateChecks: []statecheck.StateCheck{
			ofData("data.vcard_card.c", "id", knownvalue.StringExact(again.ID)),
			ofData("data.vcard_card.c", "balance", number("62")),
		}},
		resource.TestStep{Config: byLabel("newest"), ExpectError: words("2 live cards are labelled", twin.ID, "61.00", ids["newest"], "54.00")},
		resource.TestStep{Config: byLabel("Frozen"), ExpectError: words("No live card is labelled")},
		resource.TestStep{Config: s.Provider() + "data \"vcard_card\" \"c\" {}\n", ExpectError: words("id", "label")},
		resource.TestStep{Config: s.Provider() + "data \"vcard_card\" \"c\" {\n  id = \"card_1\"\n  label = \"x\"\n}\n", ExpectError: words("id", "label")},
		resource.TestStep{Config: byLabel("oldest")},
	)
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
	s := acctest.Start(t)
	fleet := issueFleet(s)
	frozen := fleet["frozen"]
	s.Test(t,
		resource.TestStep{
			Config: s.Provider() + example(t, "data-sources/vcard_cards/data-source.tf"),
			ConfigStateChecks: []statecheck.StateCheck{
				ofData("data.vcard_cards.frozen", "ids", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact(frozen)})),
				statecheck.ExpectKnownValue("data.vcard_cards.frozen", tfjsonpath.New("cards").AtSliceIndex(0), knownvalue.ObjectExact(map[string]knownvalue.Check{
					"id": knownvalue.StringExact(frozen), "bin_id": knownvalue.StringExact(bin), "network": knownvalue.StringExact("visa"),
					"last4": knownvalue.NotNull(), "status": knownvalue.StringExact("frozen"), "balance": number("51"),
					"spending_limit": knownvalue.NotNull(), "label": knownvalue.StringExact("frozen"),
				})),
			},
			Check: func(state *terraform.State) error {
				if sum := state.RootModule().Outputs["money_on_frozen_cards"].Value; fmt.Sprint(sum) != "51" {
					return fmt.Errorf("the example sums up to %v", sum)
				}
				return nil
			},
		},
	)
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
