package card_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// listings are the ways to list cards, of which the labels are returned by ids.
var listings = map[string]func(p *acctest.Protocol, ids map[string]string, config object, limit int64) (labels []string, problem string){
	"vcard_cards": func(p *acctest.Protocol, ids map[string]string, config object, _ int64) (labels []string, problem string) {
		read, diags := p.ReadDataSource("vcard_cards", config)
		cards, _ := read["cards"].([]any)
		listed := []any{}
		for _, card := range cards {
			listed = append(listed, card.(object)["id"])
			labels = append(labels, labelOf(ids, card.(object)["id"]))
		}
		if diags.Errors() == "" && plain(read["ids"]) != plain(listed) {
			return nil, fmt.Sprintf("the ids %v are of other cards", read["ids"])
		}
		return labels, diags.Errors()
	},
	"list":        listing(false),
	"list, whole": listing(true),
}

func listing(whole bool) func(p *acctest.Protocol, ids map[string]string, config object, limit int64) (labels []string, problem string) {
	return func(p *acctest.Protocol, ids map[string]string, config object, limit int64) (labels []string, problem string) {
		listed, diags := p.List("vcard_card", config, limit, whole)
		for _, one := range listed {
			if labels = append(labels, labelOf(ids, one.Identity["id"])); (one.Resource != nil) != whole {
				return nil, fmt.Sprintf("asked for the resource: %t, got %v", whole, one.Resource)
			}
		}
		return labels, diags.Errors()
	}
}

func labelOf(ids map[string]string, id any) string {
	for label, one := range ids {
		if one == id {
			return label
		}
	}
	return fmt.Sprintf("stranger %v", id)
}

func TestListCards(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	for name, test := range map[string]struct {
		config object
		limit  int64 // of list resources, or none
		want   []string
	}{
		"active, then frozen": {object{}, 0, []string{"newest", "other bin", "oldest", "frozen"}},
		"active":              {object{"status": "active"}, 0, []string{"newest", "other bin", "oldest"}},
		"frozen":              {object{"status": "frozen"}, 0, []string{"frozen"}},
		"terminated":          {object{"status": "terminated"}, 0, []string{"terminated"}},
		"BIN":                 {object{"bin_id": bin}, 0, []string{"newest", "oldest", "frozen"}},
		"both":                {object{"bin_id": bin, "status": "active"}, 0, []string{"newest", "oldest"}},
		"limit":               {object{}, 2, []string{"newest", "other bin"}},
		"limit on the seam":   {object{}, 3, []string{"newest", "other bin", "oldest"}},
		"label":               {object{"label": "frozen"}, 0, []string{"frozen"}},
		"no such label":       {object{"label": "froze"}, 0, nil},
		"terminated label":    {object{"label": "terminated"}, 0, nil},
		"label prefix":        {object{"label_prefix": "o"}, 0, []string{"other bin", "oldest"}},
		"label and prefix":    {object{"label": "newest", "label_prefix": "o"}, 0, nil},
		"prefix and limit":    {object{"label_prefix": "o"}, 1, []string{"other bin"}},
		"nothing found":       {object{"bin_id": "bin_general_visa_eu"}, 0, nil},
	} {
		for size, p := range map[string]*acctest.Protocol{"100": s.Protocol(nil), "2": capped(s, "2").Protocol(nil)} {
			for way, list := range listings {
				if isData := way == "vcard_cards"; isData && test.limit > 0 || !isData && name == "terminated" {
					continue
				}
				got, problem := list(p, ids, test.config, cmp.Or(test.limit, 100))
				if problem != "" || !slices.Equal(got, test.want) {
					t.Errorf("%s by %s, pages of %s: %v are listed, want %v, %s", name, way, size, got, test.want, problem)
				}
			}
		}
	}
	for way, words := range map[string][]string{"vcard_cards": {"active", "frozen", "terminated", "lost"}, "list": {"active", "frozen", "lost"}} {
		_, problem := listings[way](s.Protocol(nil), ids, object{"status": "lost"}, 100)
		sandboxtest.Says(t, "an unknown status", problem, append(words, "status")...)
	}
	_, problem := listings["list"](s.Protocol(nil), ids, object{"status": "terminated"}, 100)
	sandboxtest.Says(t, "terminated cards", problem, "status", "active", "frozen")
}

func TestListIsNeverCutShort(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	ids := issueFleet(s)
	failing := capped(s, "2").Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Query().Get("page") == "2" && refuse(w, http.StatusBadRequest, "invalid_request", "no such page today")
	}).Protocol(nil)
	for way, list := range listings {
		got, problem := list(failing, ids, object{}, 100)
		sandboxtest.Says(t, "a page that fails", problem, "list the cards", "400 (invalid_request)", "no such page today")
		want := []string{"newest", "other bin"}
		if way == "vcard_cards" {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: before the error come %v", way, got)
		}
	}
	unreadable := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/cards/"+ids["other bin"]) && refuse(w, http.StatusNotFound, "not_found", "there is no such card")
	}).Protocol(nil)
	got, problem := listings["list, whole"](unreadable, ids, object{}, 100)
	sandboxtest.Says(t, "a card that fails", problem, ids["other bin"], "404 (not_found)")
	if !slices.Equal(got, []string{"newest"}) {
		t.Errorf("before the error come %v", got)
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
		diags.Must(t)
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
	if calls := s.Requests(); len(calls) != 1 {
		t.Errorf("two cards on a page of two took %v", calls)
	}
	s.AddQuirks(object{"cards_total": "present", "cards_per_page": 100})
	s.Delete("/_sandbox/requests").Must()
	if _, diags := s.Protocol(nil).ReadDataSource("vcard_cards", object{}); diags.Errors() != "" {
		t.Error(diags.Errors())
	}
	if calls := s.Requests(); len(calls) != 3 { // active, frozen, and how many are active now
		t.Errorf("cards that stay as they are took %v", calls)
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
	got, problem := listings["list"](frozenMeanwhile.Protocol(nil), ids, object{}, 100)
	if problem != "" || !slices.Equal(got, []string{"newest", "other bin", "oldest", "frozen"}) {
		t.Errorf("with a card that is frozen meanwhile, %v is listed, %s", got, problem)
	}

	terminatedMeanwhile := s.Proxy(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/cards/"+ids["oldest"]) {
			s.Terminate(ids["oldest"])
		}
		return false
	})
	got, problem = listings["list, whole"](terminatedMeanwhile.Protocol(nil), ids, object{"status": "active"}, 100)
	if problem != "" || !slices.Equal(got, []string{"other bin"}) {
		t.Errorf("with a card that is terminated meanwhile, %v is listed, %s", got, problem)
	}
}

func TestListThroughTheCLI(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.14.0", "")
	s := acctest.Start(t)
	ids := issueFleet(s)
	w := acctest.NewWorkspace(t)
	through(w, s, "")
	w.Write("main.tf", acctest.Required)
	w.Write("cards.tfquery.hcl", sandboxtest.File(t, "../../examples/list-resources/vcard_card/list-resource.tfquery.hcl"))
	output := w.Must("query", "-no-color", "-generate-config-out=found.tf")
	for _, label := range []string{"newest", "oldest"} {
		prints(t, output, "id="+ids[label], label+" (visa ending in ")
	}
	if found := w.Read("found.tf"); strings.Count(found, "import {") != 2 {
		t.Errorf("what is found is:\n%s", found)
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
