package sandbox_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Shortly after the last change, the named file holds all that there is, while two
// services still have it open; also where a link leads to it: SQLite keeps its log
// beside the file itself.
func TestTheNamedFileIsWhole(t *testing.T) {
	t.Parallel()
	path, link := filepath.Join(t.TempDir(), "s.db"), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
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

// A service whose file was taken away changes nothing more, and leaves alone what
// has taken the place of its file.
func TestTheFileIsTakenAway(t *testing.T) {
	t.Parallel()
	for backup, cards := range map[bool]int{false: 0, true: 1} { // in the file afterwards
		t.Run(fmt.Sprint("replaced by a backup: ", backup), func(t *testing.T) {
			t.Parallel()
			before := start(t)
			before.Issue("50")
			before.close()
			saved := written(t, read(t, before.path))
			s := start(t, on(before.path))
			s.Issue("50")
			take := os.Remove
			if backup {
				take = func(path string) error { return os.Rename(saved, path) }
			}
			if err := take(s.path); err != nil {
				t.Fatal(err)
			}
			s.Post("/cards", `{"bin_id":"`+sandboxtest.BIN+`","amount":50}`).Refused(500, "internal_error", "")
			next := start(t, on(s.path))
			s.close()
			next.Issue("60")
			next.Balanced()
			for _, opened := range []*service{next, open(t, on(s.path))} {
				if got := len(opened.Get("/cards").Data()); got != cards+1 {
					t.Errorf("%d cards, want %d", got, cards+1)
				}
			}
		})
	}
}

// The process of a lost file ends and says why, also where it is the log that is lost, or
// the index of that; what was answered is in the file then.
func TestAProcessWithoutItsFileEnds(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		path, log := filepath.Join(t.TempDir(), "s.db"), new(strings.Builder)
		p := sandboxtest.StartProcess(t, log, "--data", path)
		card := p.Issue("50")
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err == nil || !strings.Contains(log.String(), path+" was removed or replaced") {
			t.Errorf("%q: ended with %v: %s", suffix, err, log)
		}
		if suffix == "" {
			if _, err := os.Stat(path); err == nil {
				t.Error("the file was made again")
			}
			continue
		}
		s := open(t, on(path))
		s.Get("/cards/" + card).OK(200)
		s.Issue("50")
		s.Balanced()
	}
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
	s := open(t, inbox.Trusted)
	card := s.Issue("50")
	hook := s.subscribe(inbox.URL, `"card.frozen","card.unfrozen"`).Text("id")
	s.Freeze(card)
	<-arrived
	release := hold(t, s.path, "BEGIN IMMEDIATE")
	defer release()
	close(answer) // which cannot be recorded yet
	begun := time.Now()
	for range 100 {
		s.Get("/api/v1/cards/" + card).OK(200)
	}
	if took := time.Since(begun); took > time.Minute { // one change waits for 3 s
		t.Errorf("100 reads took %v", took)
	}
	begun = time.Now()
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
	group.Wait()
	if took := time.Since(begun); took < 2*time.Second || took > 14*time.Second { // 15 s, one after the other
		t.Errorf("the changes waited for %v", took)
	}
	release()
	if got := s.Get("/api/v1/cards/" + card).Text("balance"); got != "50.00" {
		t.Errorf("the card holds %s", got)
	}
	if n := len(s.Get("/_sandbox/requests").Data()); n != 109 {
		t.Errorf("%d requests, want 109", n)
	}
	s.Post("/cards/"+card+"/unfreeze", "").OK(200)
	<-arrived
	for _, d := range s.tried(hook, 1) {
		if len(tries(d)) != 1 || d["state"] != "delivered" {
			t.Errorf("a delivery is %v", d)
		}
	}
}

func TestMain(m *testing.M) { sandboxtest.Run(m) }
