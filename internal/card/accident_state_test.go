package card_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// stateFile is Terraform's state, as far as a test changes it.
type stateFile map[string]any

func readState(t *testing.T, path string) stateFile {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var state stateFile
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func (s stateFile) write(t *testing.T, w *acctest.Workspace) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	w.Write("terraform.tfstate", string(text))
}

// cards calls change with each card's attributes and what is kept beside them.
func (s stateFile) cards(t *testing.T, change func(attributes, private map[string]any)) {
	t.Helper()
	for _, r := range s["resources"].([]any) {
		instance := r.(map[string]any)["instances"].([]any)[0].(map[string]any)
		text, err := base64.StdEncoding.DecodeString(instance["private"].(string))
		if err != nil {
			t.Fatal(err)
		}
		var keys map[string][]byte
		var private map[string]any
		if err := json.Unmarshal(text, &keys); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(keys["card"], &private); err != nil {
			t.Fatal(err)
		}
		change(instance["attributes"].(map[string]any), private)
		keys["card"], _ = json.Marshal(private)
		if raw, damaged := private["damaged"].(string); damaged {
			keys["card"] = []byte(raw)
		}
		text, _ = json.Marshal(keys)
		instance["private"] = base64.StdEncoding.EncodeToString(text)
	}
}

const beforeAnchors = `resource "vcard_card" "plain" {
  bin_id = "bin_ads_visa_us"
  amount = 100
  label = "plain"
}
resource "vcard_card" "topped_up" {
  bin_id = "bin_ads_visa_us"
  amount = 100
  label = "topped-up"
  top_up = { below = 40, to = 80 }
}
resource "vcard_card" "pending" {
  bin_id = "bin_ads_visa_us"
  amount = 140
  label = "pending"
}
`

// The release before anchors left a state with a fund of 40 USD that is pending.
// It is read, settled, and plans nothing; from then on money moves as ever.
func TestStateFromBeforeAnchors(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]bool{"the pending fund was made": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			s.AddQuirks(object{"timestamps": "utc"}) // as the state has them
			w := acctest.NewWorkspace(t).InProcess(t)
			through(w, s, "")
			state := readState(t, filepath.Join("testdata", "state_before_anchors.json"))
			if acctest.OpenTofu() {
				text, _ := json.Marshal(state)
				_ = json.Unmarshal([]byte(strings.ReplaceAll(string(text), "registry.terraform.io", "registry.opentofu.org")), &state)
			}
			state.cards(t, func(attributes, private map[string]any) {
				label := attributes["label"].(string)
				var now map[string]any
				s.Get("/cards/" + issue(s, map[string]any{"amount": 100, "label": label}).ID).Into(&now)
				for _, name := range []string{"id", "last4", "created_at"} {
					attributes[name] = now[name]
				}
				if pending, ok := private["pending"].(map[string]any); ok {
					pending["transfer"].(map[string]any)["card_id"] = now["id"]
					if made {
						s.Post("/cards/"+now["id"].(string)+"/fund", map[string]int{"amount": 40}).OK(http.StatusOK)
					}
				}
			})
			state.write(t, w)
			w.Write("main.tf", required+beforeAnchors)
			if !made {
				prints(t, w.Must("apply", "-no-color", "-auto-approve"), "0 added, 1 changed, 0 destroyed")
			}
			w.Must("apply", "-no-color", "-auto-approve", "-refresh-only")
			plansNothing(t, w)
			apply(w, required+strings.ReplaceAll(beforeAnchors, "amount = 1", "amount = 2"))
			for _, card := range liveCards(s) {
				want := 200 * usd.Dollar
				if card.Label == "pending" {
					want = 240 * usd.Dollar
				}
				if card.Balance != want {
					t.Errorf("card %s holds %s USD, want %s", card.Label, card.Balance, want)
				}
			}
			if now := s.Wallet(); now != (10000-643)*usd.Dollar {
				t.Errorf("the wallet holds %s USD", now)
			}
			plansNothing(t, w)
		})
	}
}

func TestPrivateStateThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		private map[string]any
		words   string
	}{
		"of a later release": {map[string]any{"version": 99, "anchor": []int{1}}, "was written by a later release of the provider"},
		"later and alike":    {map[string]any{"version": 99}, "was written by a later release of the provider"},
		"damaged":            {map[string]any{"damaged": `{"anchor": {"balance": "what"}}`}, "Restore the state from a backup"},
		"cut off":            {map[string]any{"damaged": `{"anchor": {"bal`}, "is not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t)
			w := applied(t, s, "", oneCard("amount = 60")).InProcess(t)
			state := readState(t, filepath.Join(w.Dir, "terraform.tfstate"))
			state.cards(t, func(_, private map[string]any) {
				clear(private)
				maps.Copy(private, c.private)
			})
			state.write(t, w)
			prints(t, applyFails(t, w, oneCard("amount = 100")), c.words)
			code, output := w.Run("apply", "-no-color", "-auto-approve", "-refresh=false")
			if code == 0 {
				t.Error("the apply without a refresh succeeded")
			}
			prints(t, output, c.words)
			if code, _ := w.Run("destroy", "-no-color", "-auto-approve", "-refresh=false"); code == 0 {
				t.Error("the destruction succeeded")
			}
			serviceHolds(t, s, "active", 60*usd.Dollar, 9939*usd.Dollar)
		})
	}
}

func TestIdempotencyKeysOfAnotherWord(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	w := acctest.NewWorkspace(t).InProcess(t)
	through(w, s, `idempotency_keys = "ignored"`)
	prints(t, applyFails(t, w, oneCard("amount = 60")), "idempotency_keys", `["unknown" "honoured"]`)
	if live := liveCards(s); len(live) != 0 {
		t.Errorf("%v were issued", live)
	}
}
