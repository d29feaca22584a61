package command_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// smallDisk is a folder with room for little. It skips where nobody may mount one.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("none", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
	return folder
}

// A change that a full disk has no room for is refused and has not happened, every
// other one is kept, and there is more to come once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	arguments := []string{"--data", filepath.Join(folder, "s.db")}
	sandboxtest.Must(0, sandboxtest.StartProcess(t, io.Discard, arguments...).Interrupt())
	_ = os.WriteFile(filepath.Join(folder, "other"), make([]byte, 1<<20), 0o600) // as much of it as there is room for
	refused(t, 1, "its disk is full", arguments...)
	sandboxtest.Must(0, os.Remove(filepath.Join(folder, "other")))
	p := sandboxtest.StartProcess(t, io.Discard, arguments...)
	p.Unlimited()
	card := p.Issue("50")
	want := 50 * usd.Dollar
	fund := func() bool {
		a := p.Send(t.Context(), http.MethodPost, "/cards/"+card+"/fund", `{"amount":0.01}`)
		if a.Status != http.StatusOK {
			a.Refused(http.StatusBadRequest, "disk_full", "nothing was done") // a 5xx would be tried for minutes
			return false
		}
		want += usd.Cent
		return true
	}
	sandboxtest.Must(0, os.WriteFile(filepath.Join(folder, "other"), make([]byte, 300<<10), 0o600))
	tries, failures := 0, 0
	for ; tries < 5000 && failures < 10; tries++ {
		if !fund() {
			failures++
		}
	}
	if failures == 0 {
		t.Fatalf("the disk was not full after %d changes", tries)
	}
	check := func(when string) {
		t.Helper()
		var got struct{ Balance usd.Amount }
		if p.Get("/cards/" + card).Into(&got); got.Balance != want {
			t.Errorf("%s, the card holds %s, want %s", when, got.Balance, want)
		}
		p.Balanced()
	}
	check("with a full disk")
	p.Kill()
	sandboxtest.Must(0, os.Remove(filepath.Join(folder, "other")))
	p = sandboxtest.StartProcess(t, io.Discard, arguments...)
	check("after a kill")
	if !fund() {
		t.Error("refused with room again")
	}
	check("with room again")
}

// So is one that would make a file larger than the system lets the process have.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	limited := filepath.Join(folder, "sandbox")
	script := fmt.Sprintf("#!/bin/sh\nulimit -f 1000 && exec %q \"$@\"\n", sandboxtest.Vcard(t))
	sandboxtest.Must(0, os.WriteFile(limited, []byte(script), 0o700))
	running := sandboxtest.Must(process.Start(t.Context(), limited, io.Discard, "--data", filepath.Join(folder, "s.db")))
	t.Cleanup(func() { _ = running.Wait() })
	p := sandboxtest.NewClient(t, running.Address)
	p.Unlimited()
	issued := 0
	for ; issued < 1000; issued++ {
		a := p.Send(t.Context(), http.MethodPost, "/cards", `{"bin_id":"bin_ads_visa_us","amount":50,"label":"`+strings.Repeat("x", 64)+`"}`)
		if a.Status != http.StatusCreated {
			a.Refused(http.StatusBadRequest, "disk_full", "the maximum file size is reached")
			break
		}
	}
	if cards := p.Get("/wallet/balance").Text("cards_active"); issued == 1000 || cards != fmt.Sprint(issued) {
		t.Errorf("%d were issued, there are %s", issued, cards)
	}
	p.Balanced()
}

func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t)
	arguments := []string{"--data", filepath.Join(folder, "s.db")}
	sandboxtest.StartProcess(t, io.Discard, arguments...).Kill()
	sandboxtest.Must(0, syscall.Mount("none", folder, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	for _, name := range []string{"s.db", "new.db"} {
		refused(t, 1, "not writable", "--data", filepath.Join(folder, name))
	}
}
