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

// A purchase that is declined because the card is frozen does not unfreeze a card that was frozen before.
func TestSeedKeepsAnAutomaticFreeze(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	s.Post(seedPath, `clock: 2026-11-22T12:00:00Z
accounts:
- cards:
  - bin_id: bin_ads_visa_us
    amount: 50
    auto_freeze_at: 20
    at: 2026-11-02T08:00:00Z
    purchases:
    - {merchant: {name: A, mcc: "7311"}, amount: 40, at: 2026-11-03T08:00:00Z}
    - {merchant: {name: A, mcc: "7311"}, amount: 5, declined: card_frozen, at: 2026-11-04T08:00:00Z}
`).OK(http.StatusCreated)
	sandboxtest.Equal(t, "the card's status", s.Get("/cards").Data()[0]["status"], any("frozen"))
}

func TestSeedRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, stopped)
	before := lookAround(t, s)
	const card = "accounts:\n- cards:\n  - {bin_id: bin_ads_visa_us, amount: 50, "
	const bought = card + `purchases: [{merchant: {name: A, mcc: "7311"}, amount: 40`
	for name, test := range map[string]struct{ world, message string }{
		"nothing":                      {"", "line 1: the document is empty"},
		"no YAML":                      {"accounts: [", "not valid YAML: line 1"},
		"a binary":                     {"\xff", "not valid YAML"},
		"a list":                       {"- a", "line 1: the value must be a mapping"},
		"null":                         {"---\n", "line 1: a world must be a mapping with accounts"},
		"a time of no status":          {card + "status_at: 2026-03-01T00:00:00Z}", "status_at requires status"},
		"two documents":                {"{}\n---\n{}", "a single YAML document"},
		"an unknown alias":             {"accounts: *planted", "unknown anchor"},
		"a name twice":                 {"limits: {}\nlimits: {}", "line 2: mapping key"},
		"an unknown field":             {"colour: red", `unknown field "colour"`},
		"an unknown field of a card":   {card + "colour: red}", `line 3: unknown field "colour"`},
		"an unknown field of a change": {card + "movements: [{amount: 1, by: me}]}", `line 3: unknown field "by"`},
		"a text for a list":            {"accounts: none", "line 1: the value must be a list"},
		"a text for a card":            {"accounts: [{cards: [one]}]", "line 1: the value must be a mapping"},
		"an unknown state":             {"accounts: [{state: rich}]", "line 1: accounts[0]: state must be one of ready"},
		"no number":                    {"accounts: [{wallet: 0x10}]", "line 1: the value must be a string in quotes, a decimal number"},
		"a fraction of a cent":         {"accounts: [{wallet: 0.001}]", "two decimals"},
		"no integer":                   {"random_seed: -1", "line 1: the value must be an integer of at least 0"},
		"no time":                      {card + "at: yesterday}", "line 3: the value must be a time from 1971 to 9000, such as"},
		"the year 9001":                {"clock: 9001-01-01T00:00:00Z", "line 1: the value must be a time"},
		"the future":                   {"clock: 2026-01-01T00:00:00Z\n" + card + "at: 2026-01-02T00:00:00Z}", "later than the world's clock"},
		"bought before it was issued":  {card + `at: 2026-01-02T00:00:00Z, purchases: [{merchant: {name: A, mcc: "7311"}, amount: 4, at: 2026-01-01T00:00:00Z}]}`, "earlier than the event it follows"},
		"more than the wallet":         {"accounts:\n- wallet: 5\n  cards: [{bin_id: bin_ads_visa_us, amount: 50}]", "line 3: accounts[0].cards[0]: the wallet has 5.00 USD"},
		"more than loaded":             {bought + `}, {merchant: {name: A, mcc: "7311"}, amount: 40}]}`, "line 3: accounts[0].cards[0].purchases[1]: the purchase should be approved, but with the card's settings and earlier events it is declined with insufficient_funds"},
		"a decline that is none":       {bought + ", declined: insufficient_funds}]}", "should be declined with insufficient_funds, but with the card's settings and earlier events it is approved"},
		"an unknown field, refunded":   {bought + ", settled: 30, refunds: [{amuont: 2}]}]}", `line 3: unknown field "amuont"`},
		"nothing in a list":            {"accounts: [{cards: [{}], webhooks: [null]}]", "accounts[0].cards[0]: bin_id is required"},
		"too much":                     {bought + strings.Repeat("}, {amount: 1", 50000) + "}]}", "takes 50004 steps, such as issuing a card; at most 50000 are allowed"},
		"a refund of nothing":          {bought + ", refunds: [1]}]}", "refunds require settled"},
		"a refund of too much":         {bought + ", settled: 30, refunds: [20, 20]}]}", "purchases[0].refunds[1]"},
		"an unknown decline":           {bought + ", declined: tired}]}", "declined must be one of card_frozen"},
		"a settled decline":            {bought + ", declined: card_frozen, settled: 1}]}", "a declined purchase cannot be settled"},
		"no such quirk":                {"quirks: {balance: none}", "line 1: quirks: balance must be one of"},
		"no such fault":                {"faults: [{method: GET, path: bins, then: drop}]", "line 1: faults[0]: path"},
		"a plain URL":                  {`accounts: [{webhooks: [{url: "http://a", events: ["*"]}]}]`, "accounts[0].webhooks[0]: url must be"},
		"a deposit that is lost":       {"accounts: [{deposits: [{currency: btc, amount: 1, status: lost}]}]", "line 1: accounts[0].deposits[0]: status must be one of pending, confirmed"},
		"a lost card":                  {card + "status: lost}", "line 3: accounts[0].cards[0]: status must be one of active, frozen, terminated"},
		"a lost challenge":             {card + "challenges: [{merchant: A, amount: 1, status: lost}]}", "line 3: accounts[0].cards[0].challenges[0]: status must be one of approved, failed"},
		"a challenge of nobody":        {card + "challenges: [{amount: 1}]}", "line 3: accounts[0].cards[0].challenges[0]: merchant is required"},
		"a change of nothing":          {card + "movements: [{amount: 0}]}", "line 3: accounts[0].cards[0].movements[0]: amount must be above 0"},
		"the end before the beginning": {card + "at: 2026-01-02T00:00:00Z, status: frozen, status_at: 2026-01-01T00:00:00Z}", "line 3: accounts[0].cards[0].status_at: the time must not be earlier than the event it follows, 2026-01-02T00:00:00.000Z"},
		"a settlement at no time":      {bought + ", settled: {at: yesterday}}]}", "line 3: the value must be a time"},
		"the year 1970":                {"clock: 1970-12-31T23:59:59Z", "line 1: the value must be a time"},
		"a name twice, further down":   {"quirks: {balance: {a: 1, a: 2}}", "line 1: mapping key"},
		"a card that another one's purchase is too much for": {"accounts:\n- cards:\n  - {bin_id: bin_ads_visa_us, amount: 60, purchases: &p [{merchant: {name: A, mcc: \"7311\"}, amount: 55}]}\n  - {bin_id: bin_ads_visa_us, amount: 50, purchases: *p}", "line 4: accounts[0].cards[1].purchases[0]: the purchase should be approved"},
		"a number for quirks":                                {"quirks: 5", "line 1: quirks: the body must be a JSON object"},
	} {
		a := s.Post(seedPath, test.world)
		a.Refused(http.StatusBadRequest, "invalid_request", test.message)
		if strings.Contains(strings.TrimSpace(a.Text("message")), "\n") {
			t.Errorf("%s: more than a line: %s", name, a.Text("message"))
		}
		if after := lookAround(t, s); after != before {
			t.Fatalf("%s: something is done:\n%s", name, after)
		}
	}
	world := aWorld(t)
	s.Post(seedPath, world).OK(http.StatusCreated)
	s.Post(seedPath, world).Refused(http.StatusBadRequest, "invalid_request", "already in use")
	s.Post("/_sandbox/reset", "").OK(http.StatusOK)
	s.Post(seedPath, world).OK(http.StatusCreated)
	s.Post("/_sandbox/reset", "").OK(http.StatusOK)
	s.Post(seedPath, "clock: 9000-12-31T00:00:00Z\n"+card+"at: 1971-01-01T00:00:00Z}").OK(http.StatusCreated)
	sandboxtest.Equal(t, "the clock", s.Get("/_sandbox/clock").Text("now"), "9000-12-31T00:00:00.000Z")
	s.Post("/_sandbox/clock", `{"advance":"24h"}`).Refused(http.StatusBadRequest, "invalid_request", "the year 9000")
	s.Post("/_sandbox/simulate", `{"days":1}`).Refused(http.StatusBadRequest, "invalid_request", "the year 9000")
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
		{world, used, "already in use"},
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
