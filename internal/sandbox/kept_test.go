package sandbox_test

import (
	"bytes"
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// keptRow is a row of the guide's table of what is in the file, and in which form.
var keptRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| (plain|encrypted|hashed|not kept)[^|]* \|`)

// The guide says of everything that a sandbox is told, or makes up, whether it is
// in the file as it is.
func TestTheGuideSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/guides/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]bool{}
	for _, row := range keptRow.FindAllStringSubmatch(string(guide), -1) {
		plain[row[1]] = row[2] == "plain"
	}

	kept := fill(t)
	if documented, tested := slices.Sorted(maps.Keys(plain)), slices.Sorted(maps.Keys(kept.values)); !slices.Equal(documented, tested) {
		t.Fatalf("the guide tells of\n%s\nthe test of\n%s", strings.Join(documented, "\n"), strings.Join(tested, "\n"))
	}
	for what, values := range kept.values {
		for _, value := range values {
			if found := bytes.Contains(kept.file, []byte(value)); found != plain[what] {
				t.Errorf("%s: the guide says that it is plain in the file: %v; one is there: %v", what, plain[what], found)
			}
		}
	}
}

// kept is the content of a file and what was put into it, by the guide's names.
type kept struct {
	file   []byte
	values map[string][]string
}

// fill uses a sandbox with everything that may be kept.
func fill(t *testing.T) kept {
	t.Helper()
	s := start(t, on(filepath.Join(t.TempDir(), "s.db")), withKey("sk_live_sandbox_planted"))
	other := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	hook := s.Post("/api/v1/webhooks", `{"url":"https://planted-host.invalid/planted-path?planted-query","events":["*"],"secret":"planted-secret"}`).OK(201)
	made := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1/","events":["*"]}`).OK(201)
	card := s.Issue("50", `"label":"planted label"`, `"metadata":{"planted name":"planted value"}`)
	s.Post("/api/v1/cards/"+card+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "planted-key").OK(200)
	s.Authorize(card, "10", adsMCC).OK(201)
	challenge := s.Post("/_sandbox/3ds-challenges", `{"card_id":"`+card+`","merchant":"Ads","amount":5}`).OK(201)
	details := s.Get("/api/v1/cards/" + card + "/details").OK(200)
	s.Get("/api/v1/cards?bin_id=planted-filter").OK(200)
	s.Fault(`{"method":"GET","path":"/bins","then":{"status":500,"body":"planted response"}}`)
	s.tried(made.Text("id"), 1)
	s.tried(hook.Text("id"), 1)
	s.close()

	content, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var master []byte
	if err := db.QueryRowContext(t.Context(), `SELECT master_key FROM service`).Scan(&master); err != nil {
		t.Fatal(err)
	}
	return kept{content, map[string][]string{
		"the master key":                                          {string(master)},
		"cards: labels, balances, metadata":                       {"planted label", "planted name", "planted value"},
		"transactions, deposits, ledger":                          {"Big Ads"},
		"card numbers, one-time codes":                            {details.Text("pan"), challenge.Text("otp")},
		"API keys that were made up":                              {other.Text("api_key")},
		"API keys that were chosen":                               {s.Key},
		"webhook secrets":                                         {"planted-secret", made.Text("secret")},
		"webhook URLs":                                            {"planted-path", "planted-query"},
		"events":                                                  {`"data":{"id":"` + card},
		"responses to calls with an idempotency key":              {`"card_balance":`},
		"idempotency keys":                                        {"planted-key"},
		"API calls: method, path, query, status":                  {"bin_id=planted-filter"},
		"limits, quirks and faults, with the responses of faults": {"planted response"},
	}}
}
