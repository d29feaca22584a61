//go:build unix

package provider_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// adFleet is the example of ad campaigns in the hands of a team, for months.
type adFleet struct {
	t *testing.T
	s *acctest.Service
	w *acctest.Workspace
}

// as makes the commands that follow use this key.
func (f *adFleet) as(key string) {
	f.w.Env = append(f.w.Env, "VCARD_BASE_URL="+f.s.URL, "VCARD_API_KEY="+key)
}

// edit replaces text in a file of the configuration.
func (f *adFleet) edit(file, old, next string) {
	f.t.Helper()
	content := f.w.Read(file)
	if !strings.Contains(content, old) {
		f.t.Fatalf("%s lacks %q", file, old)
	}
	f.w.Write(file, strings.Replace(content, old, next, 1))
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

// plans is applies without the apply.
func (f *adFleet) plans(what, want string, args ...string) {
	f.t.Helper()
	_, output := f.w.Run(append([]string{"plan", "-no-color", "-out=plan"}, args...)...)
	want = strings.ReplaceAll(strings.TrimSpace(want), "\t", "")
	if got := told(output); got != want {
		f.t.Fatalf("%s: the plan is\n%s\nwant\n%s\nof\n%s", what, got, want, output)
	}
}

// nothing is a plan without changes.
const nothing = ""

var (
	headlines  = regexp.MustCompile(`^  # (\S+) (will be \w+(?: in-place)?|must be replaced|has moved to (\S+)|has changed|has been deleted)$`)
	attributes = regexp.MustCompile(`^      [~+-] (\w+) += (.*)$`)
	said       = regexp.MustCompile(`^[│ ]*(Warning|Error): (.*)`)
	shortened  = strings.NewReplacer("module.", "", ".vcard_card.campaign", "", "vcard_card.", "")
	ids        = regexp.MustCompile(`card_\w{20,}|ending in \d{4}`)
)

// told is what a plan does, a line for each card and what becomes of it, and the titles
// of what it says beside that, each once.
func told(output string) string {
	verbs := map[string]string{
		"will be created": "issue", "will be destroyed": "terminate", "has been deleted": "terminate", "must be replaced": "replace",
		"will be updated in-place": "change", "has changed": "change",
	}
	if _, actions, found := strings.Cut(output, " will perform the following actions:"); found { // what has changed outside comes before
		output = actions
	}
	var lines []string
	var card *string // whose attributes follow
	for line := range strings.SplitSeq(output, "\n") {
		if found := headlines.FindStringSubmatch(line); found != nil {
			name := shortened.Replace(found[1])
			if found[3] != "" {
				lines = append(lines, fmt.Sprintf("move %s (was %s)", shortened.Replace(found[3]), name))
				continue
			}
			lines = append(lines, verbs[found[2]]+" "+name)
			if card = nil; verbs[found[2]] == "change" {
				card = &lines[len(lines)-1]
			}
		} else if found := attributes.FindStringSubmatch(line); found != nil && card != nil && found[1] != "money_record" {
			value := strings.NewReplacer(" -> ", " to ", "(known after apply)", "?").Replace(found[2])
			*card += map[bool]string{true: ": ", false: ", "}[!strings.Contains(*card, ": ")] + found[1] + " " + value
		} else if line == "    }" {
			card = nil
		} else if card != nil && strings.HasPrefix(line, "  # (imported from ") {
			*card = strings.Replace(*card, "change", "import", 1)
		} else if found := said.FindStringSubmatch(line); found != nil && !strings.Contains(line, "development overrides") {
			lines = append(lines, strings.ToLower(found[1])+": "+ids.ReplaceAllString(found[2], "…"))
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
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

// wallet checks what the account's wallet holds.
func (f *adFleet) wallet(want usd.Amount) {
	f.t.Helper()
	if got := f.s.Wallet(); got != want {
		f.t.Fatalf("the wallet holds %s USD, want %s", got, want)
	}
}
