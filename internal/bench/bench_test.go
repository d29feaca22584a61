//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
)

func TestStateGrowsAfterItsFirstInstance(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terraform.tfstate")
	before := `{"version": 4, "terraform_version": "1.11.4", "serial": 3, "lineage": "a", "resources": [{"mode": "managed",
		"type": "vcard_card", "name": "fleet", "provider": "p", "instances": [{"index_key": 0, "private": "cA==",
		"identity": {"id": "card_a"}, "attributes": {"id": "card_a", "amount": 60, "status": "active"}}]}]}`
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := addToState(path, []object{card{ID: "card_b", frozen: true}.attributes()}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var after struct {
		Resources []struct {
			Instances []object `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(content, &after); err != nil {
		t.Fatal(err)
	}
	attributes, _ := after.Resources[0].Instances[1]["attributes"].(object)
	if record, _ := attributes["money_record"].(string); reconcile.ParseRecord("card_b", record).Anchor == nil {
		t.Errorf("the record %q is not the card's own", record)
	}
	delete(attributes, "money_record")
	want := []object{
		{"index_key": 0., "private": "cA==", "identity": object{"id": "card_a"}, "attributes": object{"id": "card_a", "amount": 60., "status": "active"}},
		{"index_key": 1., "private": "cA==", "identity": object{"id": "card_b"}, "attributes": object{
			"id": "card_b", "amount": 60., "status": "frozen", "frozen": true, "last4": "", "label": "", "created_at": "", "expires_at": "",
		}},
	}
	if got := after.Resources[0].Instances; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := addToState(path, nil); err == nil {
		t.Error("a state with two instances has no first one to go by, but was taken")
	}
}

// A command that fails is told with what it said, and the environment of who
// runs the bench steers neither the CLI nor the provider.
func TestRunOfTheCLI(t *testing.T) {
	t.Setenv("TF_CLI_ARGS", "-json")
	t.Setenv("VCARD_SANDBOX", "elsewhere.db")
	b := &bench{program: "/nowhere", cli: "/bin/sh", folder: t.TempDir()}
	w, err := b.workspace("test", "")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(w.dir, "cli")
	w.cli = script
	if err := os.WriteFile(script, []byte("#!/bin/sh\nenv\necho said\ntest \"$1\" = good\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(t.Context(), "good"); err != nil {
		t.Error(err)
	}
	_, err = w.run(t.Context(), "bad")
	if err == nil || !strings.Contains(err.Error(), "said") {
		t.Fatalf("a failure reads %v", err)
	}
	for _, steering := range []string{"TF_CLI_ARGS=", "VCARD_SANDBOX="} {
		if strings.Contains(err.Error(), steering) {
			t.Errorf("the CLI sees %s", steering)
		}
	}
}

// The CLI finds a provider by the name of its file.
func TestRandomMayHaveAnyName(t *testing.T) {
	t.Parallel()
	random := filepath.Join(t.TempDir(), "downloaded")
	if err := run(t.Context(), []string{"/nowhere", "/bin/sh", random}); err == nil || !strings.Contains(err.Error(), "RANDOM_PROVIDER is to be") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(random, []byte("binary"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := &bench{program: "/nowhere", cli: "/bin/sh", random: random, folder: t.TempDir()}
	w, err := b.workspace("test", "")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(w.dir, "plugins", "terraform-provider-random")); err != nil || string(content) != "binary" {
		t.Errorf("the CLI finds %q, %v", content, err)
	}
}
