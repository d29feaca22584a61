//go:build unix

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// adFleet is the example of ad campaigns in the hands of a team, for months.
type adFleet struct {
	t *testing.T
	s *acctest.Service
	w *acctest.Workspace
	// story is every plan, as far as it says what happens to cards.
	story strings.Builder
}

func newFleet(t *testing.T) *adFleet {
	t.Helper()
	f := &adFleet{t: t, s: acctest.Start(t), w: acctest.NewWorkspace(t)}
	f.s.Unlimited()
	f.as(f.s.Key)
	copyExample(t, f.w, filepath.Join(examples, "ad-campaigns"), ".")
	return f
}

// as makes the commands that follow use this key.
func (f *adFleet) as(key string) {
	f.w.Env = append(f.w.Env, "VCARD_BASE_URL="+f.s.URL, "VCARD_API_KEY="+key)
}

// edit replaces text in a file of the configuration.
func (f *adFleet) edit(file, old, next string) {
	f.t.Helper()
	content, err := os.ReadFile(filepath.Join(f.w.Dir, file))
	if err != nil || !strings.Contains(string(content), old) {
		f.t.Fatalf("%s lacks %q: %v", file, old, err)
	}
	f.w.Write(file, strings.Replace(string(content), old, next, 1))
}

// applies checks that a plan does this, in the words of somebody who wrote it
// down before, and applies it.
func (f *adFleet) applies(what, want string, args ...string) {
	f.t.Helper()
	f.plans(what, want, args...)
	if want != nothing {
		f.w.Must("apply", "-no-color", "plan")
	}
}

// refuses checks that a plan ends with an error of these words.
func (f *adFleet) refuses(what, words string) {
	f.t.Helper()
	code, output := f.w.Run("plan", "-no-color")
	if code == 0 || !strings.Contains(output, words) {
		f.t.Fatalf("%s: the plan ended with %d:\n%s", what, code, output)
	}
	fmt.Fprintf(&f.story, "%s\n  error: %s …\n\n", what, words)
}

// plans is applies without the apply.
func (f *adFleet) plans(what, want string, args ...string) {
	f.t.Helper()
	_, output := f.w.Run(append([]string{"plan", "-json", "-out=plan"}, args...)...)
	said := diagnosed(f.t, output)
	var plan tfjson.Plan
	if strings.Contains(output, `"planned_change"`) || strings.Contains(output, `"resource_drift"`) {
		shown := f.w.Must("show", "-json", "plan")
		at := max(0, strings.Index(shown, "{")) // after what the CLI warns of
		if err := json.Unmarshal([]byte(shown[at:]), &plan); err != nil {
			f.t.Fatal(err)
		}
	}
	lines := append(told(&plan, slices.Contains(args, "-refresh-only")), said...)
	if len(lines) == 0 {
		lines = []string{nothing}
	}
	got := strings.Join(lines, "\n")
	fmt.Fprintf(&f.story, "%s\n  %s\n\n", what, strings.ReplaceAll(got, "\n", "\n  "))
	if want = strings.ReplaceAll(strings.TrimSpace(want), "\t", ""); got != want {
		f.t.Fatalf("%s: the plan is\n%s\nwant\n%s", what, got, want)
	}
}

// nothing is a plan without changes.
const nothing = "nothing"

var (
	cardIDs   = regexp.MustCompile(`card_\w{20,}`)
	lastFours = regexp.MustCompile(`ending in \d{4}`)
	addresses = regexp.MustCompile(`(?:module\.(\w+)\.)?vcard_card\.(\w+)`)
)

// diagnosed returns the titles of what a plan says beside its changes, each once.
func diagnosed(t *testing.T, output string) []string {
	t.Helper()
	said := map[string]bool{}
	for line := range strings.Lines(output) {
		var message struct {
			Type       string `json:"type"`
			Diagnostic struct {
				Severity string `json:"severity"`
				Summary  string `json:"summary"`
			} `json:"diagnostic"`
		}
		if json.Unmarshal([]byte(line), &message) != nil || message.Type != "diagnostic" ||
			strings.Contains(message.Diagnostic.Summary, "development overrides") {
			continue
		}
		summary := lastFours.ReplaceAllString(cardIDs.ReplaceAllString(message.Diagnostic.Summary, "card_…"), "ending in …")
		said[message.Diagnostic.Severity+": "+summary] = true
	}
	return slices.Sorted(maps.Keys(said))
}

// told is what a plan does, a line for each card and what becomes of it.
func told(plan *tfjson.Plan, refreshOnly bool) []string {
	var lines []string
	changes := plan.ResourceChanges
	if refreshOnly {
		changes = plan.ResourceDrift
	}
	for _, rc := range changes {
		if rc.Mode != tfjson.ManagedResourceMode {
			continue
		}
		name, before := shortened(rc.Address), ""
		if rc.PreviousAddress != "" && !refreshOnly {
			before = " (was " + shortened(rc.PreviousAddress) + ")"
		}
		switch actions := rc.Change.Actions; {
		case rc.Change.Importing != nil:
			lines = append(lines, "import "+name+changed(rc.Change))
		case actions.Create():
			lines = append(lines, "issue "+name)
		case actions.Delete():
			lines = append(lines, "terminate "+name)
		case actions.Replace():
			lines = append(lines, "replace "+name)
		case actions.Update():
			lines = append(lines, "change "+name+before+changed(rc.Change))
		case before != "":
			lines = append(lines, "move "+name+before)
		}
	}
	slices.Sort(lines)
	return lines
}

// shortened is an address as people speak of it: campaigns["search"].
func shortened(address string) string {
	return addresses.ReplaceAllStringFunc(address, func(found string) string {
		parts := addresses.FindStringSubmatch(found)
		if parts[1] != "" {
			return parts[1]
		}
		return parts[2]
	})
}

// changed names the attributes that differ, but for the opaque one.
func changed(change *tfjson.Change) string {
	before, _ := change.Before.(map[string]any)
	after, _ := change.After.(map[string]any)
	unknown, _ := change.AfterUnknown.(map[string]any)
	text := ""
	for _, name := range slices.Sorted(maps.Keys(before)) {
		is, was := plainly(after[name]), plainly(before[name])
		if unknown[name] == true {
			is = "?"
		}
		if is != was && name != "money_record" {
			text += fmt.Sprintf(", %s %s to %s", name, was, is)
		}
	}
	return strings.Replace(text, ",", ":", 1)
}

func plainly(value any) string {
	encoded, _ := json.Marshal(value)
	return string(encoded)
}

// card returns the id of the newest live card with a label, of those that are
// active, if there is one.
func (f *adFleet) card(label string) string {
	f.t.Helper()
	for _, card := range f.s.LiveCards() {
		if card["label"] == label {
			id, _ := card["id"].(string)
			return id
		}
	}
	f.t.Fatalf("no live card is labelled %q", label)
	return ""
}

// spend buys on a card, and the merchant settles.
func (f *adFleet) spend(label, amount string) {
	f.t.Helper()
	bought := f.s.Authorize(f.card(label), amount, "7311").OK(http.StatusCreated)
	f.s.Settle(bought.Transaction(), "").OK(http.StatusCreated)
}

// account opens another account and returns its key.
func (f *adFleet) account() string {
	f.t.Helper()
	return f.s.Post("/_sandbox/accounts", map[string]any{"state": "ready", "initial_balance": 10000}).OK(http.StatusCreated).Text("api_key")
}

// wallet checks what the account's wallet holds.
func (f *adFleet) wallet(want usd.Amount) {
	f.t.Helper()
	if got := f.s.Wallet(); got != want {
		f.t.Fatalf("the wallet holds %s USD, want %s", got, want)
	}
}
