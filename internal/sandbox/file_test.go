package sandbox_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// copied is a copy of the named file alone, as a cache or a backup makes it.
func copied(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// Shortly after the last change, the named file holds all that there is, while
// two services still have it open.
func TestTheNamedFileIsWhole(t *testing.T) {
	t.Parallel()
	one := start(t)
	two := open(t, on(one.path))
	card := one.Issue("50")
	sandboxtest.Eventually(t, func() bool {
		info, err := os.Stat(one.path + "-wal")
		return err == nil && info.Size() == 0
	})
	kept := open(t, on(copied(t, one.path)))
	kept.Get("/api/v1/cards/" + card).OK(200)
	kept.Balanced()
	two.close()
	one.close()
	if beside, err := filepath.Glob(one.path + "?*"); err != nil || len(beside) > 0 {
		t.Errorf("a closed file has %q beside it, %v", beside, err)
	}
}

// Also where a link leads to it: SQLite keeps its log beside the file itself.
func TestALinkToTheFile(t *testing.T) {
	t.Parallel()
	path, link := filepath.Join(t.TempDir(), "s.db"), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, on(link))
	card := s.Issue("50")
	sandboxtest.Eventually(t, func() bool {
		info, err := os.Stat(path + "-wal")
		return err == nil && info.Size() == 0
	})
	open(t, on(copied(t, path))).Get("/api/v1/cards/" + card).OK(200)
}

// A service whose file was taken away changes nothing more, and leaves alone what
// has taken the place of its file.
func TestTheFileIsTakenAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		take func(t *testing.T, path, backup string)
		want int // cards in the file afterwards
	}{
		"removed":  {func(t *testing.T, path, _ string) { t.Helper(); remove(t, path) }, 0},
		"replaced": {func(t *testing.T, path, backup string) { t.Helper(); rename(t, backup, path) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := start(t)
			before.Issue("50")
			before.close()
			backup := copied(t, before.path)
			s := start(t, on(before.path))
			s.Issue("50")
			c.take(t, s.path, backup)
			refused := s.Post("/api/v1/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`)
			refused.Refused(500, "internal_error", "")
			next := start(t, on(s.path))
			s.close()
			next.Issue("60")
			if got := len(next.Get("/api/v1/cards").Data()); got != c.want+1 {
				t.Errorf("%d cards, want %d", got, c.want+1)
			}
			next.Balanced()
			next.close()
			again := open(t, on(s.path))
			if got := len(again.Get("/api/v1/cards").Data()); got != c.want+1 {
				t.Errorf("%d cards when it is opened again, want %d", got, c.want+1)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestPathsWithTwoSlashes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, path := range []string{"/" + folder + "/s.db", folder + "//t.db", folder + "/./u.db"} {
		open(t, on(path)).close()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Nor does a service whose log was taken away, or the index of that; what it answered
// is in the file.
func TestTheLogIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"-wal", "-shm"} {
		path, log := filepath.Join(t.TempDir(), "s.db"), new(strings.Builder)
		p := sandboxtest.StartProcess(t, log, "--data", path)
		card := p.Issue("50")
		remove(t, path+suffix)
		if err := p.Wait(); err == nil || !strings.Contains(log.String(), suffix) {
			t.Errorf("%s: ended with %v: %s", suffix, err, log)
		}
		s := open(t, on(path))
		s.Get("/api/v1/cards/" + card).OK(200)
		s.Issue("50")
		s.Balanced()
	}
}

// The process of a lost file ends, and says why.
func TestAProcessWithoutItsFileEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db")
	log := new(strings.Builder)
	p := sandboxtest.StartProcess(t, log, "--data", path)
	p.Issue("50")
	remove(t, path)
	if err := p.Wait(); err == nil || !strings.Contains(log.String(), path+" was removed or replaced") {
		t.Errorf("ended with %v: %s", err, log)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made again")
	}
}

// Nobody reads the log: everything is answered all the same, and a signal ends it.
func TestAnUnreadLog(t *testing.T) {
	t.Parallel()
	unread, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unread.Close() }()
	p := sandboxtest.StartProcess(t, log, "--data", filepath.Join(t.TempDir(), "s.db"), "--log-level", "debug")
	p.Unlimited()
	card := p.Issue("50")
	for range 2000 { // more than the pipe holds, and as many lines as wait in memory
		p.Post("/cards/"+card+"/fund", `{"amount":0.01}`).OK(200)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
	_ = log.Close()
	text, err := io.ReadAll(unread)
	if err != nil || !strings.Contains(string(text), "msg=answered") {
		t.Errorf("the log has %d bytes, %v", len(text), err)
	}
}

// Who reads the log late learns how many of its lines are missing.
func TestALogThatIsReadLate(t *testing.T) {
	t.Parallel()
	late, log, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := sandboxtest.StartProcess(t, log, "--data", ":memory:", "--log-level", "debug")
	_ = log.Close() // the process has its own
	p.Unlimited()
	for range 2000 {
		p.Get("/bins").OK(200)
	}
	text := make(chan string)
	go func() {
		read, _ := io.ReadAll(late) // what is missing in it is seen
		text <- string(read)
	}()
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
	read := <-text
	lines, dropped := strings.Count(read, "msg=answered"), 0
	for _, said := range regexp.MustCompile(`msg="(\d+) lines of the log were dropped`).FindAllStringSubmatch(read, -1) {
		n, err := strconv.Atoi(said[1])
		if err != nil {
			t.Error(err)
		}
		dropped += n
	}
	if lines < 1000 || dropped == 0 || lines+dropped < 2000 {
		t.Errorf("%d lines, and %d that are said to be missing", lines, dropped)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	sandboxtest.RemoveProgram()
	os.Exit(code)
}
