package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// challenge begins a 3DS challenge on a card.
func (s *service) challenge(card string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/3ds-challenges", fmt.Sprintf(`{"card_id":%q,"merchant":"Big Ads","amount":12.5}`, card))
}

func (s *service) complete(challenge, outcome string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/3ds-challenges/"+challenge+"/complete", fmt.Sprintf(`{"outcome":%q}`, outcome))
}

// challenges returns the ids of a listing, the newest first.
func (s *service) challenges(query string) string {
	s.T.Helper()
	var ids []string
	for _, ch := range s.Get("/api/v1/3ds" + query).OK(200).Data() {
		ids = append(ids, ch["id"].(string))
	}
	return strings.Join(ids, " ")
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	card := s.Issue("100")
	ch := s.challenge(card).OK(http.StatusCreated)
	fields(t, ch.Body, "id", "card_id", "merchant", "amount", "otp", "status", "expires_at")
	for field, want := range map[string]string{
		"card_id": card, "merchant": "Big Ads", "amount": "12.50", "status": "pending", "expires_at": "2026-03-15T12:05:00.000Z",
	} {
		if got := ch.Text(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if otp := ch.Text("otp"); len(otp) != 6 || strings.Trim(otp, "0123456789") != "" {
		t.Error("the one-time code is not six digits")
	}
	for _, query := range []string{"", "?status=pending"} {
		if listed := s.Get("/api/v1/3ds" + query).OK(200).Data(); len(listed) != 1 || fmt.Sprint(listed[0]) != fmt.Sprint(ch.Body) {
			t.Errorf("%s: listed something else than the challenge", query)
		}
	}
	if other := s.challenge(card).OK(201); other.Text("otp") == ch.Text("otp") && s.challenge(card).Text("otp") == ch.Text("otp") {
		t.Error("three challenges have one code")
	}
	s.expectBalances(map[string]string{card: "100.00", "holds": "0.00"})
}

func TestCompleteChallenge(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	card := s.Issue("100")
	for _, outcome := range []string{"approved", "failed"} {
		ch := s.challenge(card)
		id := ch.Text("id")
		done := s.complete(id, outcome).OK(200)
		if done.Text("status") != outcome || done.Text("otp") != ch.Text("otp") || done.Text("expires_at") != ch.Text("expires_at") {
			t.Errorf("%s: answered another challenge, or status %s", outcome, done.Text("status"))
		}
		if got := s.challenges("?status=" + outcome); got != id {
			t.Errorf("%s: listed %s, want %s", outcome, got, id)
		}
		if got := s.challenges(""); got != "" {
			t.Errorf("%s: still pending: %s", outcome, got)
		}
		for _, again := range []string{"approved", "failed"} {
			s.complete(id, again).Refused(400, "invalid_request", "is "+outcome)
		}
	}
	pending := s.challenge(card).Text("id")
	for body, text := range map[string]string{
		``: "outcome is required", `{"outcome":"expired"}`: "approved, failed", `{"outcome":true}`: "must be a string",
		`{"outcome":"approved","otp":"123456"}`: `unknown field "otp"`,
	} {
		s.Post("/_sandbox/3ds-challenges/"+pending+"/complete", body).Refused(400, "invalid_request", text)
	}
	s.complete("3ds_x", "approved").Refused(404, "not_found", "3ds_x")
	foreign := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	foreign.complete(pending, "approved").Refused(404, "not_found", pending)
	if got := foreign.challenges(""); got != "" {
		t.Errorf("another account sees %s", got)
	}
}

func TestChallengeExpires(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	card := s.Issue("100")
	first := s.challenge(card).Text("id")
	s.Advance("4m59.999s")
	second := s.challenge(card).Text("id")
	if got := s.challenges(""); got != second+" "+first {
		t.Errorf("pending are %s, want %s, %s", got, second, first)
	}
	s.Advance("1ms") // five minutes after the first
	if got := s.challenges("?status=pending"); got != second {
		t.Errorf("pending are %s, want %s", got, second)
	}
	if listed := s.Get("/api/v1/3ds?status=expired").OK(200).Data(); len(listed) != 1 || listed[0]["id"] != first || listed[0]["status"] != "expired" {
		t.Errorf("%d challenges are expired, want the first", len(listed))
	}
	s.complete(first, "approved").Refused(400, "invalid_request", "is expired")
	s.complete(second, "approved").OK(200)
	s.Advance("24h")
	if expired, approved := s.challenges("?status=expired"), s.challenges("?status=approved"); expired != first || approved != second {
		t.Errorf("a day later %s are expired, %s approved", expired, approved)
	}
}

func TestChallengesRefuse(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	card := s.Issue("100")
	for body, text := range map[string]string{
		``:                               "card_id is required",
		`{"card_id":"x","amount":1}`:     "merchant is required",
		`{"card_id":"x","merchant":"m"}`: "amount is required",
		`{"card_id":"x","merchant":"m","amount":0}`:                                         "above 0",
		`{"card_id":"x","merchant":{"name":"m"},"amount":1}`:                                "merchant must be a string",
		`{"card_id":"x","merchant":"` + strings.Repeat("m", 129) + `","amount":1}`:          "129 characters",
		`{"card_id":"` + card + `","merchant":"m","amount":1,"expires_at":"` + `tomorrow"}`: `"expires_at"`,
	} {
		s.Post("/_sandbox/3ds-challenges", body).Refused(400, "invalid_request", text)
	}
	s.challenge("card_x").Refused(404, "not_found", "card_x")
	s.Freeze(card)
	s.challenge(card).OK(201) // a merchant may ask; the authorization will fail
	s.Terminate(card)
	s.challenge(card).Refused(400, "card_terminated", card)
}

func TestChallengeEvent(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	hook := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["3ds.challenge"]}`).Text("id")
	ch := s.challenge(s.Issue("100")).OK(201)
	s.complete(ch.Text("id"), "approved").OK(200) // tells nobody
	told := outbox(t, s, hook)
	if len(told) != 1 || told[0]["type"] != "3ds.challenge" {
		t.Fatalf("%d events", len(told))
	}
	data := told[0]["data"].(map[string]any)
	fields(t, data, "id", "card_id", "merchant", "amount", "otp", "status", "expires_at")
	if data["id"] != ch.Text("id") || data["otp"] != ch.Text("otp") || data["status"] != "pending" {
		t.Error("the event is of something else than the challenge")
	}
}
