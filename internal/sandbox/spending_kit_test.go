package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"
)

const adsMCC = "7311"

// authorize uses a card at a merchant. more are further members of the body.
func (s *service) authorize(card, amount string, more ...string) answer {
	s.t.Helper()
	return s.authorizeAt(card, amount, adsMCC, more...)
}

func (s *service) authorizeAt(card, amount, mcc string, more ...string) answer {
	s.t.Helper()
	body := fmt.Sprintf(`{"card_id":%q,"amount":%s,"merchant":{"name":"Big Ads","mcc":%q}`, card, amount, mcc)
	for _, m := range more {
		body += "," + m
	}
	return s.post("/_sandbox/authorizations", body+"}")
}

// authorized fails the test unless the card is accepted, and returns the
// transaction's id.
func (s *service) authorized(card, amount string, more ...string) string {
	s.t.Helper()
	a := s.authorize(card, amount, more...).ok(http.StatusCreated)
	if a.body["decline_reason"] != nil {
		s.t.Fatalf("declined: %s", a.raw)
	}
	return a.transaction()
}

// follow settles or refunds a transaction. An amount of "" names none.
func (s *service) follow(call, transaction, amount string, more ...string) answer {
	s.t.Helper()
	body := fmt.Sprintf(`{"transaction_id":%q`, transaction)
	if amount != "" {
		body += `,"amount":` + amount
	}
	for _, m := range more {
		body += "," + m
	}
	return s.post("/_sandbox/"+call, body+"}")
}

func (s *service) settled(authorization, amount string, more ...string) string {
	s.t.Helper()
	return s.follow("settlements", authorization, amount, more...).ok(http.StatusCreated).transaction()
}

func (s *service) refunded(settlement, amount string, more ...string) string {
	s.t.Helper()
	return s.follow("refunds", settlement, amount, more...).ok(http.StatusCreated).transaction()
}

// transaction returns the id of the transaction in an answer.
func (a answer) transaction() string {
	a.t.Helper()
	shown, _ := a.body["transaction"].(map[string]any)
	id, _ := shown["id"].(string)
	if id == "" {
		a.t.Fatalf("no transaction in %s", a.raw)
	}
	return id
}

// books fails the test unless the ledger is in order and its accounts hold what
// is wanted. "card" stands for the one card.
func (s *service) books(want map[string]string) {
	s.t.Helper()
	s.balanced()
	for name, balance := range want {
		if name == "card" {
			name = s.get("/api/v1/cards").ok(200).data()[0]["id"].(string)
		}
		if got := s.booked(name); got != balance {
			s.t.Errorf("%s holds %s, want %s", name, got, balance)
		}
	}
}

func (s *service) status(card, want string) {
	s.t.Helper()
	if got := s.get("/api/v1/cards/" + card).ok(200).text("status"); got != want {
		s.t.Errorf("the card is %s, want %s", got, want)
	}
}

func (s *service) freeze(card string) {
	s.t.Helper()
	s.post("/api/v1/cards/"+card+"/freeze", "").ok(200)
}

func (s *service) terminate(card string) {
	s.t.Helper()
	s.call(http.MethodDelete, "/api/v1/cards/"+card, "").ok(200)
}

func (s *service) advance(by string) {
	s.t.Helper()
	s.post("/_sandbox/clock", fmt.Sprintf(`{"advance":%q}`, by)).ok(200)
}

// scenario is a named case of a rule of money, told on one card of 100 USD in a
// wallet of 1,000 USD.
type scenario struct {
	name string
	card string // further members of the card's body
	tell func(s *service, card string)
	want map[string]string // the books at the end
}

func tell(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, c := range scenarios {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := conforming(t, stopped, wallet(1101*dollar))
			var more []string
			if c.card != "" {
				more = []string{c.card}
			}
			c.tell(s, s.issue("100", more...))
			s.books(c.want)
		})
	}
}
