package command_test

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
