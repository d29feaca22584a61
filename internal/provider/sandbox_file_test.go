package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

const sandboxConfig = `
terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}
provider "vcard" {
  sandbox = { path = "sandbox.db" }
}
` + card

// A pipeline keeps the named file and the state, and nothing beside them.
func TestTheNamedFileIsTheSandbox(t *testing.T) {
	t.Parallel()
	w, next := acctest.NewWorkspace(t).Built(), acctest.NewWorkspace(t).Built()
	w.Write("main.tf", sandboxConfig)
	w.Must("apply", "-auto-approve", "-no-color")
	for _, name := range []string{"main.tf", "terraform.tfstate", "sandbox.db"} {
		content, err := os.ReadFile(filepath.Join(w.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		next.Write(name, string(content))
	}
	if code, output := next.Run("plan", "-detailed-exitcode", "-no-color"); code != 0 {
		t.Errorf("the copied file holds something else: %d %s", code, output)
	}
}

func TestAMissingSandboxFile(t *testing.T) {
	t.Parallel()
	w := acctest.NewWorkspace(t).Built()
	w.Write("main.tf", sandboxConfig)
	w.Must("apply", "-auto-approve", "-no-color")
	state, err := os.ReadFile(filepath.Join(w.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	// A card of long ago is not waited for, as one is that may not be shown yet.
	w.Write("terraform.tfstate", regexp.MustCompile(`"created_at": "\d+`).ReplaceAllString(string(state), `"created_at": "2020`))
	file := filepath.Join(w.Dir, "sandbox.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil && !os.IsNotExist(err) {
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
