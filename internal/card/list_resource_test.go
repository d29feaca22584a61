package card_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// labels are the labels of listed cards, by their ids.
func labels(ids map[string]string, listed []acctest.Listed) []string {
	var names []string
	for _, one := range listed {
		name := fmt.Sprintf("stranger %v", one.Identity["id"])
		for label, id := range ids {
			if id == one.Identity["id"] {
				name = label
			}
		}
		names = append(names, name)
	}
	return names
}

func TestListCards(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for name, test := range map[string]struct {
		config object
		limit  int64
		want   []string
	}{
		"active, then frozen": {object{}, 100, []string{"newest", "other bin", "oldest", "frozen"}},
		"active":              {object{"status": "active"}, 100, []string{"newest", "other bin", "oldest"}},
		"frozen":              {object{"status": "frozen"}, 100, []string{"frozen"}},
		"BIN":                 {object{"bin_id": bin}, 100, []string{"newest", "oldest", "frozen"}},
		"limit":               {object{}, 2, []string{"newest", "other bin"}},
		"limit on the seam":   {object{}, 3, []string{"newest", "other bin", "oldest"}},
		"label":               {object{"label": "frozen"}, 100, []string{"frozen"}},
		"no such label":       {object{"label": "froze"}, 100, nil},
		"terminated label":    {object{"label": "terminated"}, 100, nil},
		"label prefix":        {object{"label_prefix": "o"}, 100, []string{"other bin", "oldest"}},
		"label and prefix":    {object{"label": "newest", "label_prefix": "o"}, 100, nil},
		"prefix and limit":    {object{"label_prefix": "o"}, 1, []string{"other bin"}},
		"nothing found":       {object{"bin_id": "bin_general_visa_eu"}, 100, nil},
	} {
		for size, p := range map[string]*acctest.Protocol{"100": s.Protocol(nil), "2": capped(s, "2").Protocol(nil)} {
			for _, whole := range []bool{false, true} {
				listed, diags := p.List("vcard_card", test.config, test.limit, whole)
				if text := diags.Errors(); text != "" {
					t.Fatal(text)
				}
				if got := labels(ids, listed); !slices.Equal(got, test.want) {
					t.Errorf("%s, pages of %s, whole %v: lists %v, want %v", name, size, whole, got, test.want)
				}
				for _, one := range listed {
					if (one.Resource != nil) != whole {
						t.Errorf("%s: asked for the resource: %v, got %v", name, whole, one.Resource)
					}
				}
			}
		}
	}
}

func TestListedCardIsWhatImportGives(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	for range 11 { // more than are read side by side
		issue(s, map[string]any{"amount": 60, "auto_freeze_at": 5, "metadata": map[string]string{"team": "ads"}})
	}
	frozen := issue(s, map[string]any{"amount": 70, "label": "search", "spending_limit": 500})
	s.Freeze(frozen.ID)

	listed, diags := p.List("vcard_card", object{}, 100, true)
	if text := diags.Errors() + diags.Warnings(); text != "" || len(listed) != 12 {
		t.Fatalf("%d cards are listed, %s", len(listed), text)
	}
	for _, one := range listed {
		imported, diags := p.Import("vcard_card", one.Identity["id"].(string), nil)
		if text := diags.Errors(); text != "" {
			t.Fatal(text)
		}
		for name, want := range imported.Values {
			if got := one.Resource[name]; name != "money_record" && plain(got) != plain(want) {
				t.Errorf("%s is listed as %v, and imported as %v", name, got, want)
			}
		}
	}
	last := listed[len(listed)-1]
	if want := fmt.Sprintf("search (visa ending in %s)", last.Resource["last4"]); last.DisplayName != want {
		t.Errorf("a labelled card is displayed as %q, want %q", last.DisplayName, want)
	}
	first := listed[0]
	if want := fmt.Sprintf("%s (visa ending in %s)", first.Identity["id"], first.Resource["last4"]); first.DisplayName != want {
		t.Errorf("a card without a label is displayed as %q, want %q", first.DisplayName, want)
	}
}

func TestListAsksNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	issueFleet(s)
	s.Delete("/_sandbox/requests").Must()
	if listed, _ := capped(s, "2").Protocol(nil).List("vcard_card", object{}, 2, false); len(listed) != 2 {
		t.Fatalf("%d cards are listed", len(listed))
	}
	if calls := requests(s); len(calls) != 1 {
		t.Errorf("two cards on a page of two took %v", calls)
	}
	s.AddQuirks(object{"cards_total": "present", "cards_per_page": 100})
	s.Delete("/_sandbox/requests").Must()
	if _, diags := s.Protocol(nil).ReadDataSource("vcard_cards", object{}); diags.Errors() != "" {
		t.Error(diags.Errors())
	}
	if calls := requests(s); len(calls) != 3 { // active, frozen, and how many are active now
		t.Errorf("cards that stay as they are took %v", calls)
	}
}

func TestListIsNeverCutShort(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for _, whole := range []bool{false, true} {
		listed, diags := failingPage(s, "2").Protocol(nil).List("vcard_card", object{}, 100, whole)
		sayAll(t, "a page that fails", diags.Errors(), "list the cards", "400 (invalid_request)", "no such page today")
		if got := labels(ids, listed); !slices.Equal(got, []string{"newest", "other bin"}) {
			t.Errorf("before the error come %v", got)
		}
	}
	unreadable := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/cards/"+ids["other bin"]) && refuse(w, http.StatusNotFound, "not_found", "there is no such card")
	})
	listed, diags := unreadable.Protocol(nil).List("vcard_card", object{}, 100, true)
	sayAll(t, "a card that fails", diags.Errors(), ids["other bin"], "404 (not_found)")
	if got := labels(ids, listed); !slices.Equal(got, []string{"newest"}) {
		t.Errorf("before the error come %v", got)
	}
}

// A card may change between the calls of one list.
func TestListWhileCardsChange(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok"})
	ids := issueFleet(s)
	frozenMeanwhile := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("status") == "frozen" {
			s.Freeze(ids["newest"])
		}
		return false
	})
	listed, diags := frozenMeanwhile.Protocol(nil).List("vcard_card", object{}, 100, false)
	if got := labels(ids, listed); diags.Errors() != "" || !slices.Equal(got, []string{"newest", "other bin", "oldest", "frozen"}) {
		t.Errorf("with a card that is frozen meanwhile, %v is listed, %s", got, diags.Errors())
	}

	terminatedMeanwhile := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/cards/"+ids["oldest"]) {
			s.Terminate(ids["oldest"])
		}
		return false
	})
	listed, diags = terminatedMeanwhile.Protocol(nil).List("vcard_card", object{"status": "active"}, 100, true)
	if got := labels(ids, listed); diags.Errors() != "" || !slices.Equal(got, []string{"other bin"}) {
		t.Errorf("with a card that is terminated meanwhile, %v is listed, %s", got, diags.Errors())
	}
}

func TestListRefusals(t *testing.T) {
	t.Parallel()
	_, diags := acctest.Start(t).Protocol(nil).List("vcard_card", object{"status": "terminated"}, 100, false)
	sayAll(t, "terminated cards", diags.Errors(), "status", "active", "frozen")
	unknown := acctest.Configure(t, object{"base_url": acctest.Unknown, "api_key": "sk_live_x"})
	_, diags = unknown.List("vcard_card", object{}, 100, false)
	sayAll(t, "an unknown provider", diags.Errors(), "not known yet", "list cards")
}

func TestListThroughTheCLI(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.14.0", "")
	s := acctest.Start(t)
	ids := issueFleet(s)
	w := acctest.NewWorkspace(t)
	through(w, s, "")
	w.Write("main.tf", required)
	w.Write("cards.tfquery.hcl", example(t, "list-resources/vcard_card/list-resource.tfquery.hcl"))
	output := w.Must("query", "-no-color", "-generate-config-out=found.tf")
	for _, label := range []string{"newest", "oldest"} {
		prints(t, output, "id="+ids[label], label+" (visa ending in ")
	}
	found, err := os.ReadFile(filepath.Join(w.Dir, "found.tf"))
	if err != nil || strings.Count(string(found), "import {") != 2 {
		t.Errorf("what is found is %v:\n%s", err, found)
	}
}

// A card that is unfrozen after the active ones were listed, and before the
// frozen ones are, is in neither list.
func TestCardThatIsUnfrozenMeanwhileIsListed(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"cards_total": "present"})
	one, two := issue(s, map[string]any{"amount": 60}).ID, issue(s, map[string]any{"amount": 60}).ID
	s.Freeze(one)
	var unfrozen sync.Once
	p := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("status") == "frozen" {
			unfrozen.Do(func() { s.Post("/cards/"+one+"/unfreeze", nil).OK(http.StatusOK) })
		}
		return false
	}).Protocol(nil)
	read, diags := p.ReadDataSource("vcard_cards", object{})
	if text := diags.Errors(); text != "" || plain(read["ids"]) != "["+two+" "+one+"]" {
		t.Errorf("lists %s, %s", plain(read["ids"]), text)
	}
}
