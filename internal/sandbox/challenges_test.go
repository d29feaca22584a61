package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// challenge begins a 3DS challenge on a card.
func (s *service) challenge(card string) answer {
	s.t.Helper()
	return s.post("/_sandbox/3ds-challenges", fmt.Sprintf(`{"card_id":%q,"merchant":"Big Ads","amount":12.5}`, card))
}

func (s *service) complete(challenge, outcome string) answer {
	s.t.Helper()
	return s.post("/_sandbox/3ds-challenges/"+challenge+"/complete", fmt.Sprintf(`{"outcome":%q}`, outcome))
}

// challenges returns the ids of a listing, the newest first.
func (s *service) challenges(query string) string {
	s.t.Helper()
	var ids []string
	for _, ch := range s.get("/api/v1/3ds" + query).ok(200).data() {
		ids = append(ids, ch["id"].(string))
	}
	return strings.Join(ids, " ")
}

func TestChallenge(t *testing.T) {
	t.Parallel()
	s := conforming(t, stopped)
	card := s.issue("100")
	ch := s.challenge(card).ok(http.StatusCreated)
	fields(t, ch.body, "id", "card_id", "merchant", "amount", "otp", "status", "expires_at")
	for field, want := range map[string]string{
		"card_id": card, "merchant": "Big Ads", "amount": "12.50", "status": "pending", "expires_at": "2026-03-15T12:05:00.000Z",
	} {
		if got := ch.text(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	if otp := ch.text("otp"); len(otp) != 6 || strings.Trim(otp, "0123456789") != "" {
		t.Error("the one-time code is not six digits")
	}
	for _, query := range []string{"", "?status=pending"} {
		if listed := s.get("/api/v1/3ds" + query).ok(200).data(); len(listed) != 1 || fmt.Sprint(listed[0]) != fmt.Sprint(ch.body) {
			t.Errorf("%s: listed something else than the challenge", query)
		}
	}
	if other := s.challenge(card).ok(201); other.text("otp") == ch.text("otp") && s.challenge(card).text("otp") == ch.text("otp") {
		t.Error("three challenges have one code")
	}
	s.books(map[string]string{card: "100.00", "holds": "0.00"})
}

func TestCompleteChallenge(t *testing.T) {
	t.Parallel()
	s := conforming(t, stopped)
	card := s.issue("100")
	for _, outcome := range []string{"approved", "failed"} {
		ch := s.challenge(card)
		id := ch.text("id")
		done := s.complete(id, outcome).ok(200)
		if done.text("status") != outcome || done.text("otp") != ch.text("otp") || done.text("expires_at") != ch.text("expires_at") {
			t.Errorf("%s: answered another challenge, or status %s", outcome, done.text("status"))
		}
		if got := s.challenges("?status=" + outcome); got != id {
			t.Errorf("%s: listed %s, want %s", outcome, got, id)
		}
		if got := s.challenges(""); got != "" {
			t.Errorf("%s: still pending: %s", outcome, got)
		}
		for _, again := range []string{"approved", "failed"} {
			s.complete(id, again).refused(400, "invalid_request", "is "+outcome)
		}
	}
	pending := s.challenge(card).text("id")
	for body, text := range map[string]string{
		``: "outcome is required", `{"outcome":"expired"}`: "approved, failed", `{"outcome":true}`: "must be a string",
		`{"outcome":"approved","otp":"123456"}`: `unknown field "otp"`,
	} {
		s.post("/_sandbox/3ds-challenges/"+pending+"/complete", body).refused(400, "invalid_request", text)
	}
	s.complete("3ds_x", "approved").refused(404, "not_found", "3ds_x")
	foreign := s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key"))
	foreign.complete(pending, "approved").refused(404, "not_found", pending)
	if got := foreign.challenges(""); got != "" {
		t.Errorf("another account sees %s", got)
	}
}

func TestChallengeExpires(t *testing.T) {
	t.Parallel()
	s := conforming(t, stopped)
	card := s.issue("100")
	first := s.challenge(card).text("id")
	s.advance("4m59.999s")
	second := s.challenge(card).text("id")
	if got := s.challenges(""); got != second+" "+first {
		t.Errorf("pending are %s, want %s, %s", got, second, first)
	}
	s.advance("1ms") // five minutes after the first
	if got := s.challenges("?status=pending"); got != second {
		t.Errorf("pending are %s, want %s", got, second)
	}
	if listed := s.get("/api/v1/3ds?status=expired").ok(200).data(); len(listed) != 1 || listed[0]["id"] != first || listed[0]["status"] != "expired" {
		t.Errorf("%d challenges are expired, want the first", len(listed))
	}
	s.complete(first, "approved").refused(400, "invalid_request", "is expired")
	s.complete(second, "approved").ok(200)
	s.advance("24h")
	if expired, approved := s.challenges("?status=expired"), s.challenges("?status=approved"); expired != first || approved != second {
		t.Errorf("a day later %s are expired, %s approved", expired, approved)
	}
}

func TestChallengesRefuse(t *testing.T) {
	t.Parallel()
	s := conforming(t)
	card := s.issue("100")
	for body, text := range map[string]string{
		``:                               "card_id is required",
		`{"card_id":"x","amount":1}`:     "merchant is required",
		`{"card_id":"x","merchant":"m"}`: "amount is required",
		`{"card_id":"x","merchant":"m","amount":0}`:                                         "above 0",
		`{"card_id":"x","merchant":{"name":"m"},"amount":1}`:                                "merchant must be a string",
		`{"card_id":"x","merchant":"` + strings.Repeat("m", 129) + `","amount":1}`:          "129 characters",
		`{"card_id":"` + card + `","merchant":"m","amount":1,"expires_at":"` + `tomorrow"}`: `"expires_at"`,
	} {
		s.post("/_sandbox/3ds-challenges", body).refused(400, "invalid_request", text)
	}
	s.challenge("card_x").refused(404, "not_found", "card_x")
	s.freeze(card)
	s.challenge(card).ok(201) // a merchant may ask; the authorization will fail
	s.terminate(card)
	s.challenge(card).refused(400, "card_terminated", card)
}

func TestChallengeEvent(t *testing.T) {
	t.Parallel()
	s := conforming(t)
	hook := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["3ds.challenge"]}`).text("id")
	ch := s.challenge(s.issue("100")).ok(201)
	s.complete(ch.text("id"), "approved").ok(200) // tells nobody
	told := outbox(t, s, hook)
	if len(told) != 1 || told[0]["type"] != "3ds.challenge" {
		t.Fatalf("%d events", len(told))
	}
	data := told[0]["data"].(map[string]any)
	fields(t, data, "id", "card_id", "merchant", "amount", "otp", "status", "expires_at")
	if data["id"] != ch.text("id") || data["otp"] != ch.text("otp") || data["status"] != "pending" {
		t.Error("the event is of something else than the challenge")
	}
}
