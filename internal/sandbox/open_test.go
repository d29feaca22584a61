package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	keyed := filepath.Join(folder, "keyed.db")
	open(t, on(keyed)).close()
	rekeyed := filepath.Join(folder, "rekeyed.db")
	open(t, on(rekeyed)).close()
	execSQL(t, rekeyed, `UPDATE service SET master_key = randomblob(32)`)
	for name, c := range map[string]struct {
		options sandbox.Options
		text    string
	}{
		"another master key": {sandbox.Options{Path: rekeyed}, "does not fit its accounts"},
		"no path":            {sandbox.Options{}, "give a path"},
		"no certificate":     {sandbox.Options{Path: ":memory:", WebhookCA: []byte("no certificate")}, "PEM"},
		"a folder":           {sandbox.Options{Path: folder}, "not a regular file"},
		"no such folder":     {sandbox.Options{Path: filepath.Join(folder, "none", "x.db")}, "create it first"},
		"folder is a file":   {sandbox.Options{Path: filepath.Join(text, "x.db")}, "there is no folder"},
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
	own := filepath.Join(t.TempDir(), "own.db")
	open(t, on(own)).close()
	sound, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
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
		"with many tables":    {script: manyTables(), text: "another program"},
		"an earlier version":  {content: sound, script: `PRAGMA user_version = 17`, text: "another version"},
		"a version below 0":   {content: sound, script: `PRAGMA user_version = -1000`, text: "another version"},
		"a version not given": {content: sound, script: `PRAGMA user_version = 0`, text: "another version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s.db")
			if c.content != nil {
				if err := os.WriteFile(path, c.content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.script != "" {
				execSQL(t, path, c.script)
			}
			link := filepath.Join(t.TempDir(), "link.db")
			if err := errors.Join(os.Chmod(path, 0o644), os.Symlink(path, link)); err != nil {
				t.Fatal(err)
			}
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
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = fmt.Sprint(info.Mode(), info.ModTime(), string(content))
	}
	return files
}

// manyTables fills more than the first page of a file with the names of tables.
func manyTables() string {
	var script strings.Builder
	for i := range 200 {
		fmt.Fprintf(&script, "CREATE TABLE t%d (a, b, c); ", i)
	}
	return script.String()
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

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%e.db")
	before := open(t, on(path), wallet(50000))
	id := before.Issue("100")
	details := before.Get("/api/v1/cards/" + id + "/details").Raw
	addresses := before.Get("/api/v1/wallet/deposit-address").Raw
	hook := `{"url":"https://127.0.0.1:1","events":["*"]}`
	registered := before.Post("/api/v1/webhooks", hook, sandboxtest.IdempotencyKey, "k").Raw
	before.Post("/_sandbox/clock", `{"advance":"23h"}`).OK(200)
	before.close()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file has another name: %v", err)
	}

	after := open(t, on(path), wallet(7)) // of no account for an old file
	if after.Key != before.Key {
		t.Error("the key changed")
	}
	if after.Get("/api/v1/cards/"+id+"/details").Raw != details || after.Get("/api/v1/wallet/deposit-address").Raw != addresses {
		t.Error("derived values changed")
	}
	if got := after.Wallet().String(); got != "399.00" {
		t.Errorf("the wallet holds %s", got)
	}
	if after.Post("/api/v1/webhooks", hook, sandboxtest.IdempotencyKey, "k").Raw != registered {
		t.Error("the idempotent response was lost")
	}
	after.Balanced()
}

func TestChosenKey(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	s := open(t, file, withKey("sk_live_sandbox_mine_0123456789abcdef"))
	s.Get("/api/v1/bins").OK(200)
	s.close()
	for _, key := range []string{"", s.Key} {
		s = open(t, file, withKey(key))
		if s.Key != "sk_live_sandbox_mine_0123456789abcdef" {
			t.Errorf("the key is %q", s.Key)
		}
		s.close()
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	s := start(t, on(":memory:"))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			id := s.Issue("50")
			s.Get("/api/v1/cards/" + id).OK(200)
		})
	}
	group.Wait()
	if got := s.Wallet().String(); got != "9592.00" {
		t.Errorf("the wallet holds %s", got)
	}
	s.Balanced()
}

// Two services on one file, as two processes would be: each has its own
// connections, and SQLite's locks are between those.
func TestTwoServicesOnOneFile(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	one := open(t, file)
	two := open(t, file)
	if one.Key != two.Key {
		t.Fatal("the keys differ")
	}
	card := one.Issue("100")
	if got := two.Get("/api/v1/cards/" + card).OK(200).Text("balance"); got != "100.00" {
		t.Errorf("the other service sees %s", got)
	}
	var group sync.WaitGroup
	for i := range 40 {
		s := []*service{one, two}[i%2]
		group.Go(func() {
			s.Post("/api/v1/cards/"+card+"/fund", `{"amount":1}`, sandboxtest.IdempotencyKey, fmt.Sprint(i/4)).OK(200) // each key twice on both
			s.Issue("50")
		})
	}
	group.Wait()
	if got := two.Get("/api/v1/cards/" + card).Text("balance"); got != "110.00" {
		t.Errorf("the card holds %s after ten different funds of 1", got)
	}
	if got := one.Get("/api/v1/cards").Text("total"); got != "41" {
		t.Errorf("%s cards", got)
	}
	one.Post("/_sandbox/clock", `{"advance":"24h"}`).OK(200)
	if one.Get("/_sandbox/clock").Text("now")[:10] != two.Get("/_sandbox/clock").Text("now")[:10] {
		t.Error("the clocks differ")
	}
	one.Balanced()
	two.Balanced()
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

// A file that others may read, from a backup or an earlier version, is taken away
// from them, and so is what a process that was killed has left beside it.
func TestOpenRestrictsTheFile(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, shown := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(s.path+shown, 0o644); err != nil {
			t.Fatal(err)
		}
		open(t, on(s.path)).close()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(s.path + suffix); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%q: %v %v", suffix, info, err)
			}
		}
	}
}

func TestNoSecretAtRest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	folder := t.TempDir()
	s := open(t, on(filepath.Join(folder, "s.db")), withKey("sk_live_sandbox_planted_0123456789abcdef"), logTo(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	secrets := []string{s.Key, "planted-webhook-secret", "planted-path-token", "planted-query-token"}
	s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1/planted-path-token?t=planted-query-token","events":["*"],"secret":"planted-webhook-secret"}`, sandboxtest.IdempotencyKey, "k").OK(201)
	secrets = append(secrets, s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`, sandboxtest.IdempotencyKey, "l").Text("secret"))
	secrets = append(secrets, s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	details := s.Get("/api/v1/cards/" + s.Issue("50") + "/details")
	secrets = append(secrets, details.Text("pan"))
	s.Call(http.MethodGet, "/api/v1/cards/"+s.Key, "")
	s.close()
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
	if !strings.Contains(written, "answered") || !strings.Contains(written, sandboxtest.BIN) {
		t.Fatal("the search does not see the log or the file")
	}
	for i, secret := range secrets {
		if strings.Contains(written, secret) {
			t.Errorf("secret %d is in the log or the file", i)
		}
	}
	if info, err := os.Stat(s.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file can be read by others: %v %v", info.Mode(), err)
	}
}
