package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// mistake is what people write, and what they are told before anything happens.
type mistake struct {
	input string
	lines string // of the configuration, with this provider
	says  string
}

const warns = "Warning: "

// cardWith is a card with these lines, valid without them.
func cardWith(lines string) string {
	config := "resource \"vcard_card\" \"c\" {\n"
	for _, attribute := range []string{`bin_id = "bin_ads_visa_us"`, "amount = 60"} {
		if name, _, _ := strings.Cut(attribute, " "); !strings.Contains("\n"+lines, "\n"+name) {
			config += attribute + "\n"
		}
	}
	return config + lines + "\n}\n"
}

// ofCard is a mistake in these lines of a card.
func ofCard(lines, says string) mistake {
	return mistake{strings.ReplaceAll(lines, "\n", ", "), cardWith(lines), says}
}

// amounts are mistakes in numbers.
func amounts() []mistake {
	return []mistake{
		ofCard(`amount = -5`,
			"Error: Amount too small amount must not be below zero, and must be at least 50.00 USD to issue a card, got -5.00."),
		ofCard("amount = 60\nauto_freeze_at = 80",
			warns+"The card freezes with its first purchase auto_freeze_at (80.00 USD) is not under amount (60.00 USD)"),
		ofCard("spending_limit = 40\namount = 60",
			warns+"The card is loaded with more than it may spend in a month spending_limit (40.00 USD a month) is under amount (60.00 USD)"),
		ofCard(`spending_limit = 0`, "spending_limit must be at least 0.01 USD, got 0.00"),
		ofCard("top_up = { below = 30, to = 90 }\nauto_freeze_at = 30",
			warns+"The card freezes before it is topped up auto_freeze_at (30.00 USD) is not under top_up.below (30.00 USD)"),
	}
}

// words are mistakes in texts and lists.
func words() []mistake {
	const hook = "resource \"vcard_webhook\" \"w\" {\n  events = [\"*\"]\n"
	const version = hook + "url = \"https://example.com/hook\"\nsecret_wo = \"abc\"\nsecret_wo_version = 1.1\n}\n"
	twice := strings.NewReplacer(`"c" {`, `"d" {`).Replace(cardWith(`label = "ads"`))
	return []mistake{
		ofCard(`label = "ads\n"`, `label must be one line, without control characters, got "ads\n"`),
		ofCard(`label = " ads"`, warns+"Spaces around the label "+`label is " ads". The service may leave the spaces out`),
		ofCard(`label = ""`, "Error: Not a label "+"label must have 1 to 64 characters, got 0. Leave it out for a generated one."),
		{"two cards with one label", cardWith(`label = "ads"`) + twice, warns + `Several new cards are labelled "ads"`},
		ofCard(`allowed_categories = ["Advertising"]`,
			warns+`A category is not written as the service writes them allowed_categories has "Advertising"`),
		ofCard(`allowed_categories = [""]`, "Error: Empty text each text of allowed_categories must not be empty."),
		ofCard(`bin_id = "bin_ads_visa"`, `Error: Unknown BIN bin_id must be one of the BINs that this account can issue on, got "bin_ads_visa". There are: bin_ads_mastercard_eu`),
		ofCard(`allowed_categories = []`,
			`Error: No categories allowed_categories must name at least one category, such as "advertising". Leave it out`),
		{
			"metadata of 21 keys", cardWith(`metadata = { for n in range(21) : "k${n}" => "v" }`),
			"Error: Too many metadata keys metadata must have at most 20 keys, got 21.",
		},
		{
			`network = "Amex"`, `data "vcard_bins" "b" { network = "Amex" }`,
			warns + "No BIN passes the filters ids and bins are empty. The catalogue has 9 BINs, of the networks mastercard, visa",
		},
		{
			`max_results = 2.5`, "data \"vcard_transactions\" \"t\" {\n  max_results = 2.5\n}\n",
			"max_results must be a whole number between 1 and 10000, got 2.5",
		},
		{`secret_wo_version = 1.1`, version, "secret_wo_version must be a whole number, got 1.1"},
		{
			`status = "lost"`, "data \"vcard_cards\" \"c\" {\n  status = \"lost\"\n}\n",
			`Error: Not one of the words status must be "active", "frozen" or "terminated", got "lost".`,
		},
		{
			`data vcard_card id = "crd_123"`, "data \"vcard_card\" \"c\" {\n  id = \"crd_123\"\n}\n",
			"Error: Not a card id " + `id must be a card id, of the form card_…, got "crd_123". The dashboard and the data source vcard_cards show them.`,
		},
		{
			"data vcard_card without id and label", "data \"vcard_card\" \"c\" {\n}\n",
			"Error: Either id or label Set one of the two: id for a card",
		},
		{
			"data vcard_card with id and label", "data \"vcard_card\" \"c\" {\n  id = \"card_1\"\n  label = \"ads\"\n}\n",
			"Error: Either id or label",
		},
		{`data vcard_card label = "nobody"`, "data \"vcard_card\" \"c\" {\n  label = \"nobody\"\n}\n", `No live card is labelled "nobody"`},
		{
			`url = "http://example.com"`, hook + "url = \"http://example.com\"\n}\n",
			"url must be an address that begins with https://, as in https://example.com/events, got one that begins with http:",
		},
	}
}

// terraforms are mistakes that Terraform finds before the provider is asked. The
// guide explains its words.
func terraforms() []mistake {
	const wrongType = "Incorrect attribute value type: "
	return []mistake{
		ofCard(`amount = "$100"`, wrongType+"a number is required"),
		ofCard(`frozen = "yes"`, wrongType+"a bool is required"),
		ofCard(`top_up = { bellow = 50, to = 100 }`, wrongType+`attribute "below" is required`),
		ofCard(`allowed_categories = "advertising"`, wrongType+"set of string required"),
		{"nested metadata", cardWith(`metadata = { team = { name = "eu" } }`), wrongType + "string required"},
		ofCard(`lable = "ads"`, "Unsupported argument"),
		ofCard(`create_before_destroy = true`, "Unsupported argument"),
		ofCard(`status = "frozen"`, "Invalid Configuration for Read-Only Attribute"),
		ofCard(`allowed_categories = [null]`, "Null Set Value"),
		ofCard(`metadata = { team = null }`, "Null Map Value"),
		{"no BIN", "resource \"vcard_card\" \"c\" {\n  amount = 60\n}\n", "Missing required argument"},
		{"a set for for_each", cardWith(`for_each = ["a", "b"]`), "Invalid for_each argument"},
		{"a block for top_up", cardWith("top_up {\n  below = 50\n  to = 100\n}"), "Unsupported block type"},
		{
			"a card that waits for itself", cardWith(`label = "ads-${length(data.vcard_cards.all.ids)}"`) + "data \"vcard_cards\" \"all\" {\n  depends_on = [vcard_card.c]\n}\n",
			"Cycle",
		},
		{"a missing alias", cardWith("provider = vcard.agency"), "Provider configuration not present: it has been removed"},
	}
}

// connections are mistakes in the provider block, which they bring along.
func connections(t *testing.T, s *acctest.Service) []mistake {
	t.Helper()
	notSQLite := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notSQLite, []byte("Dear diary, this is no database, but it is long enough to look at. "), 0o600); err != nil {
		t.Fatal(err)
	}
	block := func(lines string) string {
		return "provider \"vcard\" {\n" + lines + "\n}\ndata \"vcard_bins\" \"b\" {}\n"
	}
	at := func(address, key string) string {
		return block(fmt.Sprintf("base_url = %q\napi_key = %q", address, key))
	}
	account := func(key string) string {
		return at("https://cards.example.com/api/v1", key)
	}
	ofBlock := func(lines, says string) mistake { return mistake{lines, block(lines), says} }
	ofSandbox := func(line, says string) mistake {
		return mistake{line, block("sandbox = { path = \"s.db\" }\n" + line), says}
	}
	const not = "Error: Not an API key of this service api_key must "
	return []mistake{
		{"a wrong key", at(s.URL, "sk_live_sandbox_wrong"), "The service does not accept the API key"},
		{"no e-mail address", at(s.URL, accountKey(s, "email_unconfirmed")), "The first step is next: confirm the e-mail address"},
		{"no deposit", at(s.URL, accountKey(s, "no_deposit")), "The second step is next: make a first deposit"},
		{"no API", at(s.URL, accountKey(s, "api_not_enabled")), "The third step is still to be done: ask the service's support"},
		{`api_key = " sk_live_…\n"`, at(s.URL, " "+s.Key+"\n"), warns + "Spaces around the API key"},
		{"a password", at("https://me:planted@cards.example.com/api/v1", "sk_live_x"), "Error: "},
		{"a password with #", at("https://me:planted#1@cards.example.com/api/v1", "sk_live_x"), "Error: "},
		{"a password without a scheme", at("me:planted@cards.example.com/api/v1", "sk_live_x"), "Error: "},
		{"a query without a scheme", at("cards.example.com/api/v1?key=planted", "sk_live_x"), "Error: "},
		{"a key for a sandbox, beside one", block("sandbox = { path = \"./sk_live_planted\" }\napi_key = \"sk_live_x\""), "Error: "},
		{"a key for an address", at("sk_live_planted", "sk_live_x"), "Error: "},
		{"a key in an address", at("https://sk_live_planted/api/v1", "sk_live_sandbox_x"), "Error: "},
		{
			"a key for a sandbox", block(`sandbox = { path = "./sk_live_planted" }`),
			"Error: Not a path sandbox.path, or VCARD_SANDBOX, must not hold an API key",
		},
		{"no key", at("https://cards.example.com/api/v1/", "planted"), not + "begin with sk_live_. Keys are made in the dashboard"},
		{"no address", at("cards.example.com", "sk_live_x"), "base_url must be an address such as https://cards.example.com/api/v1, with https://"},
		{"no scheme", at("127.0.0.1:8420/api/v1", "sk_live_sandbox_x"), "(a sandbox's with http://) and without quotes"},
		{`base_url` + " not set", block(`api_key = "sk_live_x"`), "api_key is set, but neither base_url nor VCARD_BASE_URL"},
		ofBlock(`sandbox = { path = ":memory:" }`, "keeps nothing from one run of the provider to the next"),
		{`sandbox = { path = "C:\temp" }`, block(`sandbox = { path = "C:\temp\new.db" }`), `In a Windows path, write / or \\ where there is a \`},
		{"no database", block(fmt.Sprintf(`sandbox = { path = %q }`, notSQLite)), notSQLite},
		{
			`sandbox = { path = "/proc/…" }`, block(`sandbox = { path = "/proc/vcard\u202e/s.db" }`),
			"Error: The sandbox cannot be opened Cannot open the sandbox file /proc/vcard\ufffd/s.db: ",
		},
		{
			`initial_balance = 0.001`, block(`sandbox = { path = "s.db", initial_balance = 0.001 }`),
			"sandbox.initial_balance must be an amount in USD with at most two decimals",
		},
		{
			`api_key = "Bearer sk_live_…"`, account("Bearer sk_live_abc"),
			not + "begin with sk_live_, without the word Bearer, which the provider adds itself",
		},
		{`api_key = "\"sk_live_…\""`, account(`"sk_live_abc"`), not + "begin with sk_live_, without the quotes that stand around it"},
		{`api_key = "'sk_live_…'"`, account(`'sk_live_abc'`), not + "begin with sk_live_, without the quotes"},
		{`api_key = "sk_live_… …"`, account("sk_live_a bc"), not + "hold no space, no line break"},
		{
			"sandbox key for another host", account("sk_live_sandbox_planted"),
			`api_key was made by a sandbox, but base_url points to "cards.example.com"`,
		},
		{
			"sandbox key for no host", at("unix://", "sk_live_sandbox_planted"),
			"base_url must be an address such as https://cards.example.com/api/v1",
		},
		{
			`base_url = "http://cards.example.com/api/v1"`, at("http://cards.example.com/api/v1", "sk_live_abc"),
			"plain http would show the API key to the network, and",
		},
		{
			`base_url = "https://cards.example.com"`, at("https://cards.example.com", "sk_live_abc"),
			"base_url must end in /api/v1, as in https://cards.example.com/api/v1",
		},
		{
			`base_url` + " without a key", block(`base_url = "https://cards.example.com/api/v1"`),
			"base_url is set, but neither api_key nor VCARD_API_KEY",
		},
		{"nothing configured", block(""), "The vcard provider is not configured Configure one of the two"},
		ofBlock(`sandbox = { path = "~/s.db" }`,
			`The sandbox file is "~/s.db". Only a shell knows what ~ and variables stand for; write path = pathexpand("~/…")`),
		ofBlock(`sandbox = { path = "$HOME/s.db" }`, `The sandbox file is "$HOME/s.db"`),
		{
			`initial_balance = "lots"`, block(`sandbox = { path = "s.db", initial_balance = "lots" }`),
			`sandbox.initial_balance must be a number, got "lots"`,
		},
		{
			`initial_balance = -1`, block(`sandbox = { path = "s.db", initial_balance = -1 }`),
			"sandbox.initial_balance must be at least 0.00 USD, got -1.00",
		},
		{
			"sandbox beside base_url", block("sandbox = { path = \"s.db\" }\nbase_url = \"https://host/api/v1\""),
			"sandbox excludes api_key and base_url",
		},
		{"sandbox beside api_key", block("sandbox = { path = \"s.db\" }\napi_key = \"sk_live_abc\""), "sandbox excludes api_key and base_url"},
		ofSandbox(`request_timeout = "soon"`, "request_timeout must be a duration of at least 1s, written like 30s or 2m, got \"soon\""),
		ofSandbox(`idempotency_keys = "ignored"`, `idempotency_keys must be "unknown" or "honoured", got "ignored".`),
		ofSandbox(`wallet_check = "warning"`, `Error: Not one of the words wallet_check must be "warn", "error" or "off", got "warning".`),
		ofBlock(`sandbox = { path = "" }`, "Error: Empty text sandbox.path must not be empty."),
		ofBlock(`sandbox = { path = " " }`, "Error: Not a path sandbox.path, or VCARD_SANDBOX, must have more than spaces."),
		ofBlock(`sandbox = { path = "terraform.tfstate" }`, `must name a file of its own, with an extension, as in vcard-sandbox.db, got "terraform.tfstate".`),
		ofBlock(`sandbox = { path = "s.db " }`, `must name a file of its own, with an extension, as in vcard-sandbox.db, got "s.db ".`),
		ofBlock(`sandbox = { path = "true" }`, `must name a file of its own, with an extension, as in vcard-sandbox.db, got "true".`),
		ofBlock(`sandbox = { path = "cards/" }`, `must name a file of its own, with an extension, as in vcard-sandbox.db, got "cards/".`),
		ofBlock(`sandbox = { path = "http://127.0.0.1:8420" }`, "For a sandbox that runs as a server, set base_url and api_key to what it printed."),
		ofSandbox(`max_retries = 100`, "max_retries must be a whole number between 0 and 20, got 100"),
		ofSandbox(`rate_limits = { requests_per_minute = 1000 / 3 }`,
			"Error: Not a whole number rate_limits.requests_per_minute must be a whole number between 1 and 1000000, got 333.3333333. Round what you compute, as with floor()."),
		ofSandbox(`rate_limits = { requests_per_minute = 0 }`,
			"Error: Number out of range rate_limits.requests_per_minute must be a whole number between 1 and 1000000, got 0."),
	}
}

// onlyPlans are the mistakes that only the service, the file or the environment of a plan tells.
var onlyPlans = []string{
	"a wrong key", "no e-mail address", "no deposit", "no API", "no database", `sandbox = { path = "/proc/…" }`,
	"nothing configured", "base_url not set", "base_url without a key", `data vcard_card label = "nobody"`, `data vcard_card id = "crd_123"`, `bin_id = "bin_ads_visa"`,
}

// Each mistake is told when it is validated, or else in a plan, and costs nothing.
func TestMistakes(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.7.0", "1.7.0") // import blocks, and functions in them
	s := acctest.Start(t)
	wallet := s.Wallet()
	account := s.Provider()
	var all []mistake
	for _, m := range append(amounts(), words()...) {
		m.lines = account + m.lines
		all = append(all, m)
	}
	all = append(all, connections(t, s)...)
	w := acctest.NewWorkspace(t)
	for _, m := range all {
		w.Write("main.tf", acctest.Required+m.lines)
		code, output := w.Run("plan", "-no-color", "-input=false")
		text := firstTold(output)
		if !strings.Contains(text, m.says) {
			t.Errorf("%s: %q is missing in:\n%s", m.input, m.says, output)
		}
		if strings.Contains(output, "planted") {
			t.Errorf("%s: a secret is shown:\n%s", m.input, output)
		}
		if isWarning := strings.HasPrefix(m.says, warns); isWarning != (code == 0) || strings.Count(output, "Error: ") > 1 {
			t.Errorf("%s: the plan ended with %d:\n%s", m.input, code, output)
		}
		isValid := code == 0 || slices.Contains(onlyPlans, m.input)
		if code, output := w.Run("validate", "-no-color"); isValid != (code == 0) || !isValid && firstTold(output) != text {
			t.Errorf("%s: validating ended with %d:\n%s", m.input, code, output)
		}
		t.Logf("| `%s` | %s |", m.input, text)
	}
	_, guide := guideTitles(t)
	for _, m := range terraforms() {
		w.Write("main.tf", acctest.Required+account+m.lines)
		_, output := w.Run("plan", "-no-color", "-input=false")
		title, words, _ := strings.Cut(m.says, ": ")
		if text := firstTold(output); !strings.HasPrefix(text, "Error: "+title) || !strings.Contains(text, words) || !guide[m.says] {
			t.Errorf("%s: not told as the guide has it:\n%s", m.input, output)
		}
	}
	if s.Wallet() != wallet {
		t.Errorf("the wallet went from %s to %s USD", wallet, s.Wallet())
	}
}

// firstTold is the first error or warning that a person reads, without the lines that
// say where in the configuration it is.
func firstTold(output string) string {
	for _, kind := range []string{"Error: ", warns} {
		at := strings.LastIndex("\n"+output, "\n"+kind)
		if at < 0 {
			continue
		}
		var lines []string
		for line := range strings.SplitSeq(output[at:], "\n") {
			line = strings.TrimLeft(line, "│╷╵ ")
			if strings.HasPrefix(line, "────") || strings.HasPrefix(line, "Note: You") {
				break
			}
			if isPlace(line) {
				continue
			}
			lines = append(lines, line)
		}
		return acctest.Unwrapped(strings.Join(lines, "\n"))
	}
	return ""
}

// isPlace reports whether a line says where something is.
func isPlace(line string) bool {
	number, rest, ok := strings.Cut(line, ":")
	return strings.HasPrefix(line, "with ") && len(strings.Fields(line)) == 2 || strings.HasPrefix(line, "on main.tf line") ||
		ok && strings.Trim(number, "0123456789") == "" && number != "" && strings.HasPrefix(rest, " ")
}
