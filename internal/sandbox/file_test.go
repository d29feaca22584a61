package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Shortly after the last change, the named file holds all that there is, while two
// services still have it open; also where a link leads to it: SQLite keeps its log
// beside the file itself.
func TestTheNamedFileIsWhole(t *testing.T) {
	t.Parallel()
	path, link := filepath.Join(t.TempDir(), "s.db"), filepath.Join(t.TempDir(), "link.db")
	sandboxtest.Must(0, os.Symlink(path, link))
	one, two := open(t, on(link)), open(t, on(path))
	card := one.Issue("50")
	sandboxtest.Eventually(t, func() bool {
		info, err := os.Stat(path + "-wal")
		return err == nil && info.Size() == 0
	})
	kept := open(t, on(written(t, read(t, path))))
	kept.Get("/cards/" + card).OK(200)
	kept.Balanced()
	two.close()
	one.close()
	if beside, err := filepath.Glob(path + "?*"); err != nil || len(beside) > 0 {
		t.Errorf("a closed file has %q beside it, %v", beside, err)
	}
}

// A file that another process writes at that moment can be opened.
func TestOpenedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *sandboxtest.Options) { o.InitialBalance = 1_000_000_00 })
	s.Unlimited()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				s.Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"bin_ads_visa_us","amount":50}`)
			}
		}
	}()
	for range 120 {
		opened, err := sandbox.Open(t.Context(), sandbox.Options{Path: s.path})
		if err != nil {
			t.Error(err)
			break
		}
		_ = opened.Close()
	}
	close(stop)
	<-stopped
}

// While another process has the file locked, reads are answered as ever, and
// changes are told after three seconds to come again.
func TestAForeignLock(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan bool, 10), make(chan bool)
	inbox := sandboxtest.NewReceiver(t, func(http.ResponseWriter, *http.Request) {
		arrived <- true
		<-answer
	})
	var log bytes.Buffer
	s := open(t, inbox.Trusted, logTo(slog.NewTextHandler(&log, nil)))
	card := s.Issue("50")
	hook := s.subscribe(inbox.URL, `"card.frozen","card.unfrozen"`).Text("id")
	s.Freeze(card)
	<-arrived
	release := hold(t, s.path, "BEGIN IMMEDIATE")
	defer release()
	close(answer) // which cannot be recorded yet
	for range 100 {
		s.Get("/api/v1/cards/" + card).OK(200)
	}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			a := s.Post("/api/v1/cards/"+card+"/fund", `{"amount":1}`)
			a.Refused(503, "unavailable", "try again")
			if a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		})
	}
	gone, leave := context.WithTimeout(t.Context(), time.Second)
	defer leave()
	s.WithoutRetries().Send(gone, http.MethodPost, "/cards/"+card+"/fund", `{"amount":1}`)
	group.Wait()
	release()
	sandboxtest.Equal(t, "the card holds", s.Get("/api/v1/cards/"+card).Text("balance"), "50.00")
	requests := s.Get("/_sandbox/requests")
	sandboxtest.Equal(t, "requests", len(requests.Data()), 110)
	sandboxtest.ContainsAll(t, "the list of requests", requests.Raw, "the client disconnected before the request was processed")
	s.Post("/cards/"+card+"/unfreeze", "").OK(200)
	<-arrived
	for _, d := range s.tried(hook, 1) {
		if len(tries(d)) != 1 || d["state"] != "delivered" {
			t.Errorf("a delivery is %v", d)
		}
	}
	s.close()
	sandboxtest.ContainsAll(t, "the log", log.String(), "a request waited too long for the database")
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// keptRow is a row of the guide's table: what is kept, in which form, and who reads it besides.
var keptRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| (plain|hashed|not kept)[^|]* \| ([^|]+) \|$`)

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
		secret := slices.Contains(kept.secret, what)
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
	secret      []string // of the names
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
	k.secret = []string{
		"the master key", "card numbers", "one-time codes", "generated API keys", "API keys that you set", "webhook secrets",
		"webhook URLs", "events", "receivers' responses, the first KiB", "responses to calls with an idempotency key",
	}
	k.values = map[string][]string{
		"the master key": {string(query[[]byte](t, s.path, `SELECT master_key FROM service`))},

		"limits, quirks and faults, with the responses of faults": {"planted response"},
		"cards: labels, balances, metadata, past states":          {"planted label", "planted name", "planted value"},

		"transactions, challenges, deposits, ledger": {"Big Ads", "Planted Merchant"},
		"card numbers":                               {details.Text("pan")},
		"one-time codes":                             {challenge.Text("otp")},
		"generated API keys":                         {other.Text("api_key")},
		"API keys that you set":                      {s.Key},
		"webhook secrets":                            {"planted-secret", made.Text("secret")},
		"webhook URLs":                               {"T0K3Nplanted9f8e7d", "planted-query"},
		"events":                                     {`"data":{"id":"` + card},
		"deliveries: times, statuses, errors":        {"connection refused"},
		"receivers' responses, the first KiB":        {"planted answer"},
		"responses to calls with an idempotency key": {`"card_balance":`},
		"idempotency keys":                           {"planted-key"},
		"API calls: method, path, query, status, what they moved, why they were refused": {"bin_id=planted-filter"},
	}
	return k
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second := open(t), open(t)
	first.close()
	second.close()
	keyed, rekeyed := first.path, second.path
	execSQL(t, rekeyed, `UPDATE service SET master_key = randomblob(32)`)
	damaged := read(t, first.path)
	copy(damaged[len(damaged)/2:], bytes.Repeat([]byte{0xa5}, 10_000)) // some pages
	headless := read(t, first.path)
	copy(headless[100:], bytes.Repeat([]byte{0xa5}, 100)) // of its first page, behind what marks it
	locked, refused := filepath.Join(folder, "locked"), "not writable"
	sandboxtest.Must(0, os.Mkdir(locked, 0o500))
	if os.Geteuid() == 0 { // root may write everywhere
		locked, refused = filepath.Join(folder, "none"), "create it first"
	}
	closed := filepath.Join(folder, "closed")
	sandboxtest.Must(0, os.Mkdir(closed, 0))
	for name, c := range map[string]struct {
		options sandbox.Options
		text    string
	}{
		"in a closed folder": {sandbox.Options{Path: filepath.Join(closed, "folder", "x.db")}, refused},
		"a locked folder":    {sandbox.Options{Path: filepath.Join(locked, "x.db")}, refused},
		"a damaged file":     {sandbox.Options{Path: written(t, damaged)}, "damaged; restore its last copy or snapshot"},
		"a damaged page":     {sandbox.Options{Path: written(t, headless)}, "damaged; restore its last copy or snapshot"},
		"a long name":        {sandbox.Options{Path: filepath.Join(folder, strings.Repeat("x", 300))}, "cannot open the sandbox file: "},
		"another master key": {sandbox.Options{Path: rekeyed}, "does not match its accounts"},
		"no path":            {sandbox.Options{}, "set a path"},
		"no certificate":     {sandbox.Options{Path: ":memory:", WebhookCA: []byte("no certificate")}, "PEM"},
		"a folder":           {sandbox.Options{Path: folder}, "not a regular file"},
		"no such folder":     {sandbox.Options{Path: filepath.Join(folder, "none", "x.db")}, "create it first"},
		"folder is a file":   {sandbox.Options{Path: filepath.Join(keyed, "x.db")}, "there is no folder"},
		"negative balance":   {sandbox.Options{Path: ":memory:", InitialBalance: -1}, "negative"},
		"a real key":         {sandbox.Options{Path: ":memory:", APIKey: "sk_live_real"}, "sk_live_sandbox_"},
		"a bare prefix":      {sandbox.Options{Path: ":memory:", APIKey: "sk_live_sandbox_"}, "letters, digits"},
		"a short key":        {sandbox.Options{Path: ":memory:", APIKey: "sk_live_sandbox_other_012345678"}, "16 to 200"},
		"a key of two lines": {sandbox.Options{Path: ":memory:", APIKey: "sk_live_sandbox_a\n_other"}, "letters, digits"},
		"a key with a quote": {sandbox.Options{Path: ":memory:", APIKey: "sk_live_sandbox_';_other"}, "letters, digits"},
		"another key":        {sandbox.Options{Path: keyed, APIKey: "sk_live_sandbox_other_0123456789abcdef"}, "another API key"},
	} {
		box, err := sandbox.Open(t.Context(), c.options)
		if err == nil {
			_ = box.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		if !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "sk_live_real") || strings.Contains(err.Error(), "_other") {
			t.Errorf("%s: %v; want %q", name, err, c.text)
		}
	}
}

// What is not of this version of the sandbox stays as it is: content, mode, journal
// mode, and what is beside it. So does what a link leads to.
func TestOpenLeavesForeignFilesAlone(t *testing.T) {
	t.Parallel()
	own := open(t)
	own.close()
	sound := read(t, own.path)
	tables := "" // names that fill more than the first page
	for i := range 200 {
		tables += fmt.Sprintf("CREATE TABLE t%d (a, b, c); ", i)
	}
	for name, c := range map[string]struct {
		content []byte
		script  string
		text    string
	}{
		"text":                {content: []byte(strings.Repeat("no database ", 500)), text: "not a SQLite file"},
		"a few bytes":         {content: []byte("SQLite format 3\x00"), text: "not a SQLite file"},
		"another program's":   {script: `CREATE TABLE t (a)`, text: "another program"},
		"the same in WAL":     {script: `PRAGMA journal_mode = wal; CREATE TABLE t (a)`, text: "another program"},
		"its version alone":   {script: `PRAGMA user_version = 7; VACUUM`, text: "another program"},
		"its mark alone":      {script: `PRAGMA application_id = 7; VACUUM`, text: "another program"},
		"with many tables":    {script: tables, text: "another program"},
		"a later version":     {content: sound, script: `PRAGMA user_version = 17`, text: "use vcard 0.2.0 or later"},
		"a version below 0":   {content: sound, script: `PRAGMA user_version = -1000`, text: "older than the first release"},
		"a version not given": {content: sound, script: `PRAGMA user_version = 0`, text: "older than the first release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, c.content)
			if c.script != "" {
				execSQL(t, path, c.script)
			}
			link := filepath.Join(t.TempDir(), "link.db")
			sandboxtest.Must(0, errors.Join(os.Chmod(path, 0o644), os.Symlink(path, link)))
			before := folderOf(t, path)
			for _, path := range []string{path, link} {
				box, err := sandbox.Open(t.Context(), sandbox.Options{Path: path})
				if err == nil {
					_ = box.Close()
					t.Fatal("opened")
				}
				if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v; want %q", err, c.text)
				}
			}
			if after := folderOf(t, path); !maps.Equal(before, after) {
				t.Errorf("it is changed: %q", slices.Collect(maps.Keys(after)))
			}
		})
	}
}

// folderOf is each file beside path, and it, by name: mode, time of the last change
// and content.
func folderOf(t *testing.T, path string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names := sandboxtest.Must(filepath.Glob(filepath.Join(filepath.Dir(path), "*")))
	for _, name := range names {
		info := sandboxtest.Must(os.Stat(name))
		files[name] = fmt.Sprint(info.Mode(), info.ModTime(), string(read(t, name)))
	}
	return files
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := "/" + t.TempDir() + "//./a b?c#d%e.db"
	before := open(t, on(path), wallet(50000), withKey("sk_live_sandbox_mine_0123456789abcdef"))
	id := before.Issue("100")
	details := before.Get("/api/v1/cards/" + id + "/details").Raw
	addresses := before.Get("/api/v1/wallet/deposit-address").Raw
	hook := `{"url":"https://127.0.0.1:1","events":["*"]}`
	registered := before.Post("/api/v1/webhooks", hook, sandboxtest.IdempotencyKey, "k").Raw
	before.Post("/_sandbox/clock", `{"advance":"23h"}`).OK(200)
	before.close()
	sandboxtest.Must(os.Stat(path)) // under that very name

	open(t, on(path), withKey(before.Key)).close()
	after := open(t, on(path), wallet(7)) // of no account for an old file
	if after.Key != before.Key || after.Key != "sk_live_sandbox_mine_0123456789abcdef" {
		t.Errorf("the key is %s", after.Key)
	}
	if after.Get("/api/v1/cards/"+id+"/details").Raw != details || after.Get("/api/v1/wallet/deposit-address").Raw != addresses {
		t.Error("derived values changed")
	}
	sandboxtest.Equal(t, "the wallet holds", after.Wallet().String(), "399.00")
	if after.Post("/api/v1/webhooks", hook, sandboxtest.IdempotencyKey, "k").Raw != registered {
		t.Error("the idempotent response was lost")
	}
	after.Balanced()
}

// A file that others may read, from a backup or an earlier version, is taken away
// from them, and so is what a process that was killed has left beside it.
func TestOpenRestrictsTheFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, shown := range []string{"", "-wal", "-shm"} {
		sandboxtest.Must(0, os.Chmod(s.path+shown, 0o644))
		open(t, on(s.path)).close()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(s.path + suffix); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%q: %v %v", suffix, info, err)
			}
		}
	}
}
