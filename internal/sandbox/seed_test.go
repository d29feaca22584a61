package sandbox_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

const seedPath = "/_sandbox/seed"

// aWorld has one of everything.
func aWorld(t testing.TB) string { t.Helper(); return sandboxtest.File(t, "testdata/world.yaml") }

// lookAround reads all that there is, but for what is of the file alone.
func lookAround(t *testing.T, s *service) string {
	t.Helper()
	seen := ""
	for _, path := range []string{"/wallet/balance", "/cards", "/transactions", "/3ds?status=approved", "/3ds", "/_sandbox/ledger", "/_sandbox/faults", "/_sandbox/quirks", "/_sandbox/limits", "/_sandbox/accounts", "/_sandbox/clock"} {
		seen += path + s.Get(path).OK(http.StatusOK).Raw
	}
	for _, card := range s.Get("/cards").Data() {
		seen += s.Get("/cards/"+card["id"].(string)).Raw + s.Get("/cards/"+card["id"].(string)+"/details").Raw
	}
	return seen
}

func TestSeed(t *testing.T) {
	t.Parallel()
	one, two, world := open(t, stopped), open(t, stopped), aWorld(t)
	begun := one.Post(seedPath, world).OK(http.StatusCreated)
	seen := lookAround(t, one)
	secrets := regexp.MustCompile(`(sk_live_sandbox_|whsec_)\w+|("pan":")\d{16}|("cvv":")\d{3}|("otp":")\d{6}`)
	journal := query[string](t, one.path, `
		SELECT group_concat(account_id || ' ' || kind || ' ' || datetime(created_at / 1000, 'unixepoch'), char(10) ORDER BY id)
		FROM ledger_entries`)
	told := secrets.ReplaceAllString(begun.Raw+seen, "$1$2$3$4…")
	sandboxtest.Equal(t, "the world", told+journal+"\n", sandboxtest.File(t, "testdata/begun.txt"))
	two.Post(seedPath, world).OK(http.StatusCreated)
	sandboxtest.Equal(t, "the world that the same file began", lookAround(t, two), seen)
	three := open(t, stopped)
	three.Post(seedPath, strings.Replace(world, "random_seed: 7", "random_seed: 8", 1)).OK(http.StatusCreated)
	if ids := regexp.MustCompile(`card_\w+`); ids.FindString(lookAround(t, three)) == ids.FindString(seen) {
		t.Error("another seed has the same ids")
	}
	accounts := begun.Body["accounts"].([]any)
	other := accounts[1].(map[string]any)
	one.as(other["api_key"].(string)).Get("/cards").Refused(http.StatusForbidden, "onboarding_incomplete", "")
	sandboxtest.Equal(t, "cards of the other account", len(other["cards"].([]any)), 1)
	if hooks := accounts[0].(map[string]any)["webhooks"].([]any); !strings.HasPrefix(hooks[0].(map[string]any)["secret"].(string), "whsec_") {
		t.Errorf("the endpoints are %v", hooks)
	}
	sandboxtest.Equal(t, "events of the past that are on their way", len(one.deliveries("")), 0)
}

func TestSeedRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	before := lookAround(t, s)
	const card = "accounts:\n- cards:\n  - {bin_id: bin_ads_visa_us, amount: 50, "
	fill := strings.NewReplacer(`\n`, "\n", "CARD", card, "BOUGHT", card+`purchases: [{merchant: {name: A, mcc: "7311"}, amount: 40`).Replace
	for _, cells := range sandboxtest.Table(t, "testdata/seeds.txt", 3) {
		a := s.Post(seedPath, fill(cells[1]))
		a.Refused(http.StatusBadRequest, "invalid_request", cells[2])
		if strings.Contains(strings.TrimSpace(a.Text("message")), "\n") {
			t.Errorf("%s: more than a line: %s", cells[0], a.Text("message"))
		}
		if after := lookAround(t, s); after != before {
			t.Fatalf("%s: something is done:\n%s", cells[0], after)
		}
	}
	world := aWorld(t)
	s.Post(seedPath, world).OK(http.StatusCreated)
	s.Post(seedPath, world).Refused(http.StatusBadRequest, "invalid_request", "in use already")
	s.Post("/_sandbox/reset", "").OK(http.StatusOK)
	s.Post(seedPath, world).OK(http.StatusCreated)
	s.Post("/_sandbox/reset", "").OK(http.StatusOK)
	s.Post(seedPath, "clock: 9000-12-31T00:00:00Z\n"+card+"at: 1971-01-01T00:00:00Z}").OK(http.StatusCreated)
	sandboxtest.Equal(t, "the clock", s.Get("/_sandbox/clock").Text("now"), "9000-12-31T00:00:00.000Z")
	s.Post("/_sandbox/clock", `{"advance":"24h"}`).Refused(http.StatusBadRequest, "invalid_request", "the year 9000")
}

// A signing secret that YAML takes for something else is not repeated.
func TestSeedRepeatsNoSecret(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	for _, secret := range []string{"08150815", "0x8150815", "1_08150815", "!8150815 08150815", "*a08150815", "&a08150815", "%08150815", "{08150815", "'08150815", "!!binary 08150815", "!!int a08150815", "@08150815", "[08150815]", "{a08150815: b}"} {
		a := s.Post(seedPath, "accounts:\n- webhooks:\n  - {url: \"https://127.0.0.1:1/\", events: [\"*\"], secret: "+secret+"}")
		if a.Status == http.StatusCreated { // what is a text
			s.Post("/_sandbox/reset", "").OK(http.StatusOK)
		} else if strings.Contains(a.Raw, "8150815") {
			t.Errorf("%s: %s", secret, a.Raw)
		}
	}
}

// A process begins a new file with a world, and says how the keys of its accounts are.
func TestSeedOfAProcess(t *testing.T) {
	t.Parallel()
	world := aWorld(t)
	file, used := written(t, []byte(world)), filepath.Join(t.TempDir(), "s.db")
	log := new(strings.Builder)
	p := sandboxtest.StartProcess(t, log, "--data", used, "--seed", file)
	sandboxtest.Equal(t, "cards", len(p.Get("/cards").Data()), 3)
	sandboxtest.Must(0, p.Interrupt())
	for _, c := range []struct{ world, data, text string }{
		{"accounts:\n- cards: [{colour: red}]\n", ":memory:", `cannot be seeded: line 2: unknown field "colour"`},
		{world, used, "in use already"},
	} {
		flags := []string{"sandbox", "--listen=127.0.0.1:0", "--data", c.data, "--seed", written(t, []byte(c.world))}
		output, err := exec.CommandContext(t.Context(), sandboxtest.Vcard(t), flags...).CombinedOutput()
		if err == nil || !strings.Contains(string(output), c.text) || strings.Count(string(output), "\n") != 1 {
			t.Errorf("%s: %v: %s", c.text, err, output)
		}
	}
}

// Whatever bytes are to be a world, the response is a world or a refusal.
func FuzzSeed(f *testing.F) {
	f.Add(aWorld(f))
	f.Add("accounts: [{wallet: 1e9, cards: [{bin_id: x, amount: .5}]}]")
	f.Add("? [a]\n: {b: !!binary x}")
	s := sandboxtest.Start(f, func(o *sandboxtest.Options) { o.Path, o.Direct = ":memory:", true })
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		c := *s.Client
		c.T = t
		a := c.Send(t.Context(), http.MethodPost, seedPath, text)
		if a.Status != http.StatusCreated && a.Status != http.StatusBadRequest {
			t.Errorf("answered %d %s", a.Status, a.Raw)
		}
		if a.Status == http.StatusCreated {
			c.Post("/_sandbox/reset", "").OK(http.StatusOK)
		}
	})
}
