package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
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
	first, second := open(t), open(t)
	first.close()
	second.close()
	keyed, rekeyed := first.path, second.path
	execSQL(t, rekeyed, `UPDATE service SET master_key = randomblob(32)`)
	damaged := read(t, first.path)
	copy(damaged[len(damaged)/2:], bytes.Repeat([]byte{0xa5}, 10_000)) // some pages
	locked, refused := filepath.Join(folder, "locked"), "not writable"
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // root may write everywhere
		locked, refused = filepath.Join(folder, "none"), "create it first"
	}
	for name, c := range map[string]struct {
		options sandbox.Options
		text    string
	}{
		"a locked folder":    {sandbox.Options{Path: filepath.Join(locked, "x.db")}, refused},
		"a damaged file":     {sandbox.Options{Path: written(t, damaged)}, "damaged; restore its last copy or snapshot"},
		"another master key": {sandbox.Options{Path: rekeyed}, "does not fit its accounts"},
		"no path":            {sandbox.Options{}, "give a path"},
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
		"a later version":     {content: sound, script: `PRAGMA user_version = 17`, text: "use vcard 0.2.0, or a later one"},
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
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file has another name: %v", err)
	}

	open(t, on(path), withKey(before.Key)).close()
	after := open(t, on(path), wallet(7)) // of no account for an old file
	if after.Key != before.Key || after.Key != "sk_live_sandbox_mine_0123456789abcdef" {
		t.Errorf("the key is %s", after.Key)
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

func TestBeginTogether(t *testing.T) {
	t.Parallel()
	file := on(filepath.Join(t.TempDir(), "s.db"))
	keys := make([]string, 8)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			s := open(t, file)
			keys[i] = s.Key
			s.close()
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
