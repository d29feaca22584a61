package sandbox_test

import (
	"bytes"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// keptRow is a row of the guide's table: what is kept, in which form, and who reads
// it besides.
var keptRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| (plain|encrypted|hashed|not kept)[^|]* \| ([^|]+) \|$`)

// The guide says of everything that a sandbox is told, or makes up, whether it is
// in the file as it is, and who else gets to see it.
func TestTheGuideSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	plain, everybody := map[string]bool{}, map[string]bool{}
	for _, row := range keptRow.FindAllStringSubmatch(string(read(t, "../../docs/guides/sandbox.md")), -1) {
		plain[row[1]] = row[2] == "plain"
		everybody[row[1]] = strings.Contains(row[3], "every account")
	}

	kept := fill(t)
	if documented, tested := slices.Sorted(maps.Keys(plain)), slices.Sorted(maps.Keys(kept.values)); !slices.Equal(documented, tested) {
		t.Fatalf("the guide tells of\n%s\nthe test of\n%s", strings.Join(documented, "\n"), strings.Join(tested, "\n"))
	}
	for what, values := range kept.values {
		secret := !plain[what] || what == "the master key"
		for _, value := range values {
			if found := bytes.Contains(kept.file, []byte(value)); found != plain[what] {
				t.Errorf("%s: the guide says that it is plain in the file: %v; one is there: %v", what, plain[what], found)
			}
			if !plain[what] && strings.Contains(kept.wal, value) {
				t.Errorf("%s: it is in the -wal", what)
			}
			if secret && strings.Contains(kept.log, value) {
				t.Errorf("%s: it is in the log", what)
			}
			if secret && strings.Contains(kept.own, value) {
				t.Errorf("%s: the control calls show it", what)
			}
			if !everybody[what] && strings.Contains(kept.others, value) {
				t.Errorf("%s: the control calls show it to another account", what)
			}
		}
	}
	for place, found := range map[string]bool{
		"-wal": strings.Contains(kept.wal, "planted label"), "log": strings.Contains(kept.log, "msg=answered"),
		"control calls": strings.Contains(kept.own, "planted-filter"), "control calls of another account": strings.Contains(kept.others, "planted response"),
	} {
		if !found {
			t.Errorf("the search does not see the %s", place)
		}
	}
}

// kept is where things may be, and what was put there, by the guide's names.
type kept struct {
	file        []byte
	wal, log    string
	own, others string // the responses to all control calls that read
	values      map[string][]string
}

// fill uses a sandbox with everything that may be kept.
func fill(t *testing.T) (k kept) {
	t.Helper()
	var log bytes.Buffer
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "planted answer") })
	s := start(t, withKey("sk_live_sandbox_planted_0123456789abcdef"),
		inbox.Trusted, logTo(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	release := hold(t, s.path, "BEGIN; SELECT COUNT(*) FROM service") // the -wal stays as it is written
	other := s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	hook := s.Post("/api/v1/webhooks", `{"url":"https://planted-host.invalid/T0K3Nplanted9f8e7d?planted-query","events":["*"],"secret":"planted-secret"}`).OK(201)
	made := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1/","events":["*"]}`).OK(201)
	told := s.Post("/api/v1/webhooks", `{"url":"`+inbox.URL+`","events":["*"]}`).OK(201)
	card := s.Issue("50", `"label":"planted label"`, `"metadata":{"planted name":"planted value"}`)
	s.Post("/api/v1/cards/"+card+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, "planted-key").OK(200)
	s.Authorize(card, "10", adsMCC).OK(201)
	challenge := s.Post("/_sandbox/3ds-challenges", `{"card_id":"`+card+`","merchant":"Planted Merchant","amount":5}`).OK(201)
	details := s.Get("/api/v1/cards/" + card + "/details").OK(200)
	s.Get("/api/v1/cards?bin_id=planted-filter").OK(200)
	s.Fault(`{"method":"GET","path":"/bins","then":{"status":500,"body":"planted response"}}`)
	s.tried(made.Text("id"), 1)
	s.tried(hook.Text("id"), 1)
	s.tried(told.Text("id"), 1)
	for _, name := range []string{"clock", "deliveries", "faults", "ledger", "limits", "quirks", "requests"} {
		k.own += s.Get("/_sandbox/" + name).OK(200).Raw
		k.others += s.as(other.Text("api_key")).Get("/_sandbox/" + name).OK(200).Raw
	}
	k.wal = string(read(t, s.path+"-wal"))
	release()
	s.close()
	k.log, k.file = log.String(), read(t, s.path)
	k.values = map[string][]string{
		"the master key": {string(query[[]byte](t, s.path, `SELECT master_key FROM service`))},
		"cards: labels, balances, metadata, past states":          {"planted label", "planted name", "planted value"},
		"transactions, challenges, deposits, ledger":              {"Big Ads", "Planted Merchant"},
		"card numbers, one-time codes":                            {details.Text("pan"), challenge.Text("otp")},
		"API keys that were made up":                              {other.Text("api_key")},
		"API keys that were chosen":                               {s.Key},
		"webhook secrets":                                         {"planted-secret", made.Text("secret")},
		"webhook URLs":                                            {"T0K3Nplanted9f8e7d", "planted-query"},
		"events":                                                  {`"data":{"id":"` + card},
		"deliveries: times, statuses, errors":                     {"connection refused"},
		"what receivers answered, the first KiB":                  {"planted answer"},
		"responses to calls with an idempotency key":              {`"card_balance":`},
		"idempotency keys":                                        {"planted-key"},
		"API calls: method, path, query, status":                  {"bin_id=planted-filter"},
		"limits, quirks and faults, with the responses of faults": {"planted response"},
	}
	return k
}
