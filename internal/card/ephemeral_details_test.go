package card_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// secrets are what only the service and who asks it may know of a card.
type secrets struct {
	PAN      string `json:"pan"`
	CVV      string `json:"cvv"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
}

func secretsOf(s *acctest.Service, id string) secrets {
	var known secrets
	s.Get("/cards/" + id + "/details").Into(&known)
	return known
}

func TestCardDetails(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"repeated_state": "ok", "exp_year_digits": 4})
	p := s.Protocol(nil)
	card := issue(s, map[string]any{"amount": 50})
	known := secretsOf(s, card.ID)
	for _, state := range []string{"active", "frozen"} {
		opened, diags := p.OpenEphemeral("vcard_card_details", object{"card_id": card.ID})
		diags.Must(t)
		if opened["pan"] != known.PAN || opened["cvv"] != known.CVV ||
			opened["exp_month"] != acctest.Number(fmt.Sprint(known.ExpMonth)) || opened["exp_year"] != acctest.Number(fmt.Sprint(known.ExpYear)) {
			t.Errorf("the details of an %s card are not the service's", state)
		}
		s.Freeze(card.ID)
	}
	log := p.Log()
	if !strings.Contains(log, "/cards/"+card.ID+"/details") {
		t.Error("the log does not show the call")
	}
	for name, secret := range map[string]string{"PAN": known.PAN, "CVV": `"` + known.CVV + `"`, "API key": s.Key} {
		if strings.Contains(log, secret) {
			t.Errorf("the log at level TRACE has the %s", name)
		}
	}
}

func TestCardDetailsRefusals(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"terminated_status": http.StatusBadRequest})
	active, frozen, terminated := issue(s, map[string]any{"amount": 50}).ID, issue(s, map[string]any{"amount": 50}).ID, issue(s, map[string]any{"amount": 50}).ID
	known := secretsOf(s, active)
	s.Freeze(frozen)
	s.Terminate(terminated)
	responding := func(status int, code, message string) *acctest.Service {
		return s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/details") && refuse(w, status, code, message)
		})
	}
	malformed := s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/details") {
			return false
		}
		_, _ = fmt.Fprintf(w, `{"id": %q, "pan": %q, "cvv": %s, "exp_month": "x", "exp_year": 2030}`, active, known.PAN, known.CVV)
		return true
	})
	for name, test := range map[string]struct {
		service *acctest.Service
		id      string
		words   []string
	}{
		"terminated":                {s, terminated, []string{terminated, "400 (card_terminated)", "terminated", "final"}},
		"terminated, as not there":  {responding(404, "gone", "no such card"), terminated, []string{"404 (gone)", "is terminated, which is final", "has no details"}},
		"terminated, without words": {responding(409, "", ""), terminated, []string{"409", "is terminated, which is final"}},
		"frozen":                    {responding(400, "card_frozen", "the card is frozen"), active, []string{active, "400 (card_frozen)", "frozen = false"}},
		"frozen, without words":     {responding(422, "", ""), frozen, []string{"422", "is frozen, which may be the reason", "vcard_card_unfreeze"}},
		"not there":                 {s, "card_none", []string{"card_none", "404 (not_found)", "the id is wrong"}},
		"not a card id":             {s, "3ds_1", []string{"must be a card id", "3ds_1"}},
		"malformed":                 {malformed, active, []string{active, "does not have the documented shape"}},
		"message not said":          {responding(400, "locked", "the card "+known.PAN+" is locked"), active, []string{"400 (locked)"}},
	} {
		p := test.service.Protocol(object{"max_retries": 0})
		opened, diags := p.OpenEphemeral("vcard_card_details", object{"card_id": test.id})
		sandboxtest.Says(t, name, diags.Errors(), test.words...)
		if opened != nil {
			t.Errorf("%s: it opens", name)
		}
		for _, once := range []string{"is final", "frozen = false"} {
			if text := diags.Errors(); strings.Count(text, once) > 1 {
				t.Errorf("%s: %q is said twice in %q", name, once, text)
			}
		}
		if strings.Contains(diags.Errors()+p.Log(), known.PAN) {
			t.Errorf("%s: an error or the log has the card's number", name)
		}
	}
}
