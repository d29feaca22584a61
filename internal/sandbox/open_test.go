package sandbox_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(folder, "foreign.db")
	run(t, foreign, `CREATE TABLE t (a)`)
	newer := filepath.Join(folder, "newer.db")
	open(t, newer)
	run(t, newer, `PRAGMA user_version = 1000`)
	keyed := filepath.Join(folder, "keyed.db")
	open(t, keyed)
	for name, c := range map[string]struct {
		options sandbox.Options
		text    string
	}{
		"no path":           {sandbox.Options{}, "give a path"},
		"not SQLite":        {sandbox.Options{Path: text}, "not a SQLite file"},
		"another program's": {sandbox.Options{Path: foreign}, "another program"},
		"a newer version's": {sandbox.Options{Path: newer}, "newer version"},
		"a folder":          {sandbox.Options{Path: folder}, "not a regular file"},
		"no such folder":    {sandbox.Options{Path: filepath.Join(folder, "none", "x.db")}, "create it first"},
		"folder is a file":  {sandbox.Options{Path: filepath.Join(text, "x.db")}, "there is no folder"},
		"negative balance":  {sandbox.Options{Path: ":memory:", InitialBalance: -1}, "negative"},
		"a real key":        {sandbox.Options{Path: ":memory:", APIKey: "sk_live_real"}, "sk_live_sandbox_"},
		"another key":       {sandbox.Options{Path: keyed, APIKey: "sk_live_sandbox_other"}, "another API key"},
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

func TestOpenReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := sandbox.Open(t.Context(), sandbox.Options{Path: filepath.Join(folder, "x.db")})
	if err == nil || !strings.Contains(err.Error(), "not writable") {
		t.Errorf("got %v", err)
	}
}

// open makes or opens a file and closes it at once.
func open(t *testing.T, path string) {
	t.Helper()
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
}

// serveFile serves a file until the returned function is called.
func serveFile(t *testing.T, o sandbox.Options) (*service, func()) {
	t.Helper()
	box, err := sandbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(box.Handler())
	return &service{t: t, url: server.URL, key: box.APIKey(), path: o.Path}, func() {
		server.Close()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "a b?c#d%e.db"), InitialBalance: 50000}
	before, stop := serveFile(t, o)
	id := before.issue("100")
	details := before.get("/api/v1/cards/" + id + "/details").raw
	addresses := before.get("/api/v1/wallet/deposit-address").raw
	hook := `{"url":"https://127.0.0.1:1","events":["*"]}`
	registered := before.post("/api/v1/webhooks", hook, idempotencyKey, "k").raw
	before.post("/_sandbox/clock", `{"advance":"23h"}`).ok(200)
	stop()
	if _, err := os.Stat(o.Path); err != nil {
		t.Errorf("the file has another name: %v", err)
	}

	o.InitialBalance = 7 // of no account for an old file
	after, stop := serveFile(t, o)
	defer stop()
	if after.key != before.key {
		t.Error("the key changed")
	}
	if after.get("/api/v1/cards/"+id+"/details").raw != details || after.get("/api/v1/wallet/deposit-address").raw != addresses {
		t.Error("derived values changed")
	}
	if got := after.wallet(); got != "399.00" {
		t.Errorf("the wallet holds %s", got)
	}
	if after.post("/api/v1/webhooks", hook, idempotencyKey, "k").raw != registered {
		t.Error("the idempotent answer was lost")
	}
	after.balanced()
}

func TestChosenKey(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), APIKey: "sk_live_sandbox_mine"}
	s, stop := serveFile(t, o)
	s.get("/api/v1/bins").ok(200)
	stop()
	for _, key := range []string{"", o.APIKey} {
		o.APIKey = key
		s, stop = serveFile(t, o)
		if s.key != "sk_live_sandbox_mine" {
			t.Errorf("the key is %q", s.key)
		}
		stop()
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *sandbox.Options) { o.Path = ":memory:" })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			id := s.issue("50")
			s.get("/api/v1/cards/" + id).ok(200)
		})
	}
	group.Wait()
	if got := s.wallet(); got != "9592.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.balanced()
}

// Two services on one file, as two processes would be: each has its own
// connections, and SQLite's locks are between those.
func TestTwoServicesOnOneFile(t *testing.T) {
	t.Parallel()
	o := sandbox.Options{Path: filepath.Join(t.TempDir(), "s.db"), InitialBalance: sandbox.DefaultInitialBalance}
	one, stopOne := serveFile(t, o)
	defer stopOne()
	two, stopTwo := serveFile(t, o)
	defer stopTwo()
	if one.key != two.key {
		t.Fatal("the keys differ")
	}
	card := one.issue("100")
	if got := two.get("/api/v1/cards/" + card).ok(200).text("balance"); got != "100.00" {
		t.Errorf("the other service sees %s", got)
	}
	var group sync.WaitGroup
	for i := range 40 {
		s := []*service{one, two}[i%2]
		group.Go(func() {
			s.post("/api/v1/cards/"+card+"/fund", `{"amount":1}`, idempotencyKey, fmt.Sprint(i/4)).ok(200) // each key twice on both
			s.issue("50")
		})
	}
	group.Wait()
	if got := two.get("/api/v1/cards/" + card).text("balance"); got != "110.00" {
		t.Errorf("the card holds %s after ten different funds of 1", got)
	}
	if got := one.get("/api/v1/cards").text("total"); got != "41" {
		t.Errorf("%s cards", got)
	}
	one.post("/_sandbox/clock", `{"advance":"24h"}`).ok(200)
	if one.get("/_sandbox/clock").text("now")[:10] != two.get("/_sandbox/clock").text("now")[:10] {
		t.Error("the clocks differ")
	}
	one.balanced()
	two.balanced()
}

func TestBeginTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	keys := make([]string, 8)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			box, err := sandbox.Open(t.Context(), sandbox.Options{Path: path})
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = box.APIKey()
			if err := box.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, key := range keys {
		if key != keys[0] {
			t.Error("a file has two keys")
		}
	}
}

func TestNoSecretAtRest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	folder := t.TempDir()
	o := sandbox.Options{
		Path: filepath.Join(folder, "s.db"), InitialBalance: 100000,
		APIKey: "sk_live_sandbox_planted", Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	s, stop := serveFile(t, o)
	secrets := []string{s.key, "planted-webhook-secret"}
	s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"],"secret":"planted-webhook-secret"}`, idempotencyKey, "k").ok(201)
	secrets = append(secrets, s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, idempotencyKey, "l").text("secret"))
	secrets = append(secrets, s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key"))
	details := s.get("/api/v1/cards/" + s.issue("50") + "/details")
	secrets = append(secrets, details.text("pan"))
	s.call(http.MethodGet, "/api/v1/cards/"+s.key, "")
	stop()
	written := log.String()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		written += string(content)
	}
	if !strings.Contains(written, "answered") || !strings.Contains(written, "https://127.0.0.1:1") {
		t.Fatal("the search does not see the log or the file")
	}
	for i, secret := range secrets {
		if strings.Contains(written, secret) {
			t.Errorf("secret %d is in the log or the file", i)
		}
	}
	if info, err := os.Stat(o.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file can be read by others: %v %v", info.Mode(), err)
	}
}
