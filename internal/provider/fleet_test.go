//go:build unix

package provider_test

import (
	"fmt"
	"net/http"
	"path/filepath"
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

// each is what becomes of each of these campaigns.
func each(becomes, campaigns string) (lines string) {
	for campaign := range strings.FieldsSeq(campaigns) {
		lines += fmt.Sprintf("\n%s campaigns[%q]", becomes, campaign)
	}
	return lines
}

// TestFleet lives through months of a fleet. Each plan is what a person would
// have written down before.
func TestFleet(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.5.0", "1.6.0")
	f := &adFleet{t: t, s: acctest.Start(t), w: acctest.NewWorkspace(t)}
	f.s.Unlimited()
	f.as(f.s.Key)
	copyExample(t, f.w, filepath.Join(examples, "ad-campaigns"), ".")

	f.applies("The first apply", each("issue", "brand-search display-eu display-us generic-search influencers newsletter "+
		"retargeting shopping social-feed social-stories video-long video-teaser"))
	f.wallet(7246_75) // 10,000.00 less 2,741.25 and twelve fees
	f.applies("Nothing happened", nothing)

	f.spend("brand-search", "330")
	f.spend("video-teaser", "20")
	f.applies("Campaigns spend", `change campaigns["brand-search"]: balance 70 to ?, topped_up 0 to 330`)
	if spend := f.w.Must("output", "-json", "spend"); !strings.Contains(spend, `"brand-search":330,`) || !strings.Contains(spend, `"video-teaser":20}`) {
		t.Errorf("the output of spend is %s", spend)
	}
	f.wallet(7246_75 - 330_00)

	f.edit("campaigns.csv", "newsletter,50", "newsletter,75")
	f.applies("A larger budget", `change campaigns["newsletter"]: amount 50 to 75, balance 50 to ?`)

	f.edit("campaigns.csv", "display-eu,", "display-europe,")
	f.w.Write("moved.tf", `
moved {
  from = module.campaigns.vcard_card.campaign["display-eu"]
  to   = module.campaigns.vcard_card.campaign["display-europe"]
}
`)
	f.applies("A campaign is renamed", `move campaigns["display-europe"] (was campaigns["display-eu"])`)

	f.spend("social-feed", "290")
	paused := []string{"-var", `paused=["social-feed"]`}
	f.applies("A campaign is paused", `change campaigns["social-feed"]: frozen false to true, status "active" to "frozen"`, paused...)
	f.applies("It stays paused", nothing, paused...)
	f.applies("It goes on", `change campaigns["social-feed"]: balance 10 to ?, frozen true to false, status "frozen" to "active", topped_up 0 to 290`)

	f.handsOn()
	f.byCount()
	f.accounts()
	f.theEnd()
}

// handsOn is what people do in the service's dashboard.
func (f *adFleet) handsOn() {
	f.s.Freeze(f.card("shopping"))
	f.applies("Somebody froze a card: what is different", `change campaigns["shopping"]: frozen false to true, status "active" to "frozen"`, "-refresh-only")
	f.applies("Somebody froze a card: as the configuration says", `change campaigns["shopping"]: frozen true to false, status "frozen" to "active"`)

	f.s.Terminate(f.card("retargeting"))
	f.applies("Somebody terminated a card: what is different", `
	terminate campaigns["retargeting"]
	warning: Card … ("retargeting", …) was terminated outside Terraform`, "-refresh-only")
	f.applies("Somebody terminated a card: as the configuration says", `issue campaigns["retargeting"]`)

	id := f.s.Issue("200", `"label":"podcasts"`)
	f.edit("campaigns.csv", "newsletter,75", "podcasts,200,,,podcasts\nnewsletter,75")
	f.plans("Somebody issued a card: a plan without an import", `
	issue campaigns["podcasts"]
	warning: Live cards have labels of cards that this plan issues: …`)
	f.w.Write("import.tf", fmt.Sprintf("import {\n  to = module.campaigns.vcard_card.campaign[\"podcasts\"]\n  id = %q\n}\n", id))
	f.applies("Somebody issued a card: it is imported", `
	import campaigns["podcasts"]: allowed_categories [, amount 200
	warning: Taken over without proof: allowed_categories
	warning: amount is taken as the baseline; no money moves`)
	f.w.Write("import.tf", "")
	f.applies("The import is done", nothing)
}

// byCount moves cards from count to for_each.
func (f *adFleet) byCount() {
	backup := func(repeat, label string) string {
		return fmt.Sprintf(`
resource "vcard_card" "backup" {
  %s
  bin_id = "bin_ads_visa_us"
  amount = 60
  label  = %s

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [label]
  }
}
`, repeat, label)
	}
	f.w.Write("backup.tf", backup("count = 2", `"backup-${count.index}"`))
	f.applies("Two spare cards", `
	issue backup[0]
	issue backup[1]`)
	f.w.Write("backup.tf", backup(`for_each = toset(["eu", "us"])`, `"backup-${each.key}"`)+`
moved {
  from = vcard_card.backup[0]
  to   = vcard_card.backup["eu"]
}

moved {
  from = vcard_card.backup[1]
  to   = vcard_card.backup["us"]
}
`)
	f.applies("From count to for_each", `
	move backup["eu"] (was backup[0])
	move backup["us"] (was backup[1])`)
}

// accounts adds accounts beside the first: an alias, and a workspace.
func (f *adFleet) accounts() {
	f.w = f.w.Built() // a process for each account
	agency := accountKey(f.s, "ready")
	f.w.Write("agency.tf", fmt.Sprintf(`
provider "vcard" {
  alias   = "agency"
  api_key = %q
}

module "agency" {
  source    = "./cards"
  providers = { vcard = vcard.agency }

  campaigns = [
    { campaign = "launch", load = "500", top_up_below = "", top_up_to = "", label = "launch" },
  ]
}
`, agency))
	f.w.Must("get")
	wallet := f.s.Wallet()
	f.applies("Another account by an alias", `issue agency["launch"]`)
	f.wallet(wallet)
	if now := f.s.As(agency).Wallet(); now != (10000-501)*usd.Dollar {
		f.t.Errorf("the wallet of the other account holds %s USD", now)
	}

	staging := accountKey(f.s, "ready")
	f.w.Must("workspace", "new", "staging")
	f.as(staging)
	f.w.Must("apply", "-no-color", "-auto-approve", "-target=module.campaigns")
	f.wallet(wallet)
	f.w.Must("workspace", "select", "default")
	if code, output := f.w.Run("plan", "-no-color"); code == 0 || !strings.Contains(output, "Error: The API key belongs to another account") {
		f.t.Fatalf("the key of another workspace: the plan ended with %d:\n%s", code, output)
	}
	f.as(f.s.Key)
	f.applies("Back in the first workspace", nothing)
	f.wallet(wallet)
}

func (f *adFleet) theEnd() {
	f.applies("The end", `
	terminate agency["launch"]
	terminate backup["eu"]
	terminate backup["us"]`+each("terminate", "brand-search display-europe display-us generic-search influencers newsletter podcasts "+
		"retargeting shopping social-feed social-stories video-long video-teaser"), "-destroy")
	f.s.Balanced()
	if live := f.s.Get("/cards?status=active").Data(); len(live) != 0 {
		f.t.Errorf("%d cards are left", len(live))
	}
	f.wallet(10000_00 - 16_00 - 640_00) // sixteen fees, and what was spent
}
