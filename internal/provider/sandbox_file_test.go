package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const sandboxConfig = required + `
provider "vcard" {
  sandbox = { path = "sandbox.db" }
}
` + card

// A pipeline keeps the named file and the state, and nothing beside them. Without the
// file, nothing is planned, and the file is blamed.
func TestTheNamedFileIsTheSandbox(t *testing.T) {
	t.Parallel()
	w, next := acctest.NewWorkspace(t).Built(), acctest.NewWorkspace(t).Built()
	w.Write("main.tf", sandboxConfig)
	w.Must("apply", "-auto-approve", "-no-color")
	var state string
	for _, name := range []string{"main.tf", "sandbox.db", "terraform.tfstate"} {
		state = w.Read(name)
		next.Write(name, state)
	}
	next.Must("plan", "-detailed-exitcode", "-no-color") // the copied file holds the same

	// A card of long ago is not waited for, as one is that may not be shown yet.
	w.Write("terraform.tfstate", regexp.MustCompile(`"created_at": "\d+`).ReplaceAllString(state, `"created_at": "2020`))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(w.Dir, "sandbox.db"+suffix)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	code, output := w.Run("plan", "-no-color")
	for _, want := range []string{filepath.Base(w.Dir), "made new just now", "terraform state rm"} {
		if code == 0 || !strings.Contains(unwrapped(output), want) {
			t.Errorf("ended with %d and without %q: %s", code, want, output)
		}
	}
	if strings.Contains(output, "VCARD_API_KEY") {
		t.Errorf("the API key is blamed: %s", output)
	}
	if _, output := w.Run("plan", "-no-color"); !strings.Contains(unwrapped(output), "is not the one that held the card") {
		t.Errorf("the second time: %s", output)
	}
}
