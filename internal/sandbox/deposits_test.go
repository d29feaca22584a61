package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"
)

func (s *service) deposit(currency, amount string) answer {
	s.t.Helper()
	return s.post("/_sandbox/deposits", fmt.Sprintf(`{"currency":%q,"amount":%s}`, currency, amount))
}

func (s *service) confirm(deposit string) answer {
	s.t.Helper()
	return s.post("/_sandbox/deposits/"+deposit+"/confirm", "")
}

// purse fails the test unless the wallet shows these amounts.
func (s *service) purse(balance, pending string) {
	s.t.Helper()
	if got := s.get("/api/v1/wallet/balance").ok(200); got.text("balance") != balance || got.text("pending_deposits") != pending {
		s.t.Errorf("the wallet is %s, want %s with %s pending", got.raw, balance, pending)
	}
}

func TestDeposits(t *testing.T) {
	t.Parallel()
	s := conforming(t, stopped, wallet(0))
	addresses := s.get("/api/v1/wallet/deposit-address").ok(200).data()
	if len(addresses) != 10 {
		t.Fatalf("%d currencies", len(addresses))
	}
	var ids []string
	for i, address := range addresses {
		d := s.deposit(address["currency"].(string), "10.01").ok(http.StatusCreated)
		fields(t, d.body, "id", "currency", "network", "address", "amount", "status", "created_at")
		for _, field := range []string{"currency", "network", "address"} {
			if d.body[field] != address[field] {
				t.Errorf("%s of a deposit is %v, of its address %v", field, d.body[field], address[field])
			}
		}
		if d.text("amount") != "10.01" || d.text("status") != "pending" || d.text("created_at") != "2026-03-15T12:00:00.000Z" {
			t.Errorf("answered %s", d.raw)
		}
		ids = append(ids, d.text("id"))
		s.purse("0.00", fmt.Sprintf("%d.%02d", 10*(i+1), i+1))
	}
	for i, id := range ids {
		d := s.confirm(id).ok(200)
		fields(t, d.body, "id", "currency", "network", "address", "amount", "status", "created_at")
		if d.text("id") != id || d.text("status") != "confirmed" || d.text("amount") != "10.01" {
			t.Errorf("answered %s", d.raw)
		}
		s.confirm(id).refused(400, "invalid_request", "confirmed already")
		left := len(ids) - i - 1
		s.purse(fmt.Sprintf("%d.%02d", 10*(i+1), i+1), fmt.Sprintf("%d.%02d", 10*left, left))
	}
	s.books(map[string]string{"wallet": "100.10", "deposits": "-100.10"})
}

func TestDepositsRefuse(t *testing.T) {
	t.Parallel()
	s := conforming(t)
	for body, text := range map[string]string{
		``:                                "currency is required",
		`{"currency":"btc"}`:              "amount is required",
		`{"currency":"doge","amount":1}`:  "currency must be one of btc",
		`{"currency":"BTC","amount":1}`:   "currency must be one of btc",
		`{"currency":"btc","amount":0}`:   "above 0",
		`{"currency":"btc","amount":-1}`:  "above 0",
		`{"currency":"btc","amount":"1"}`: "must be a number",

		`{"currency":"btc","amount":1,"status":"confirmed"}`: `"status"`,
	} {
		s.post("/_sandbox/deposits", body).refused(400, "invalid_request", text)
	}
	id := s.deposit("btc", "1").text("id")
	s.post("/_sandbox/deposits/"+id+"/confirm", `{"amount":2}`).refused(400, "invalid_request", `"amount"`)
	s.confirm("dep_x").refused(404, "not_found", "dep_x")
	foreign := s.as(s.post("/_sandbox/accounts", `{"state":"ready"}`).text("api_key"))
	foreign.confirm(id).refused(404, "not_found", id)
	foreign.purse("0.00", "0.00")
	s.purse("10000.00", "1.00")
	s.balanced()
}

func TestDepositEvents(t *testing.T) {
	t.Parallel()
	s := conforming(t)
	hook := s.post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).text("id")
	id := s.deposit("sol", "5").text("id")
	s.confirm(id).ok(200)
	s.confirm(id).refused(400, "invalid_request", "")
	var got []string
	for _, payload := range outbox(t, s, hook) {
		data := payload["data"].(map[string]any)
		fields(t, data, "id", "currency", "network", "address", "amount", "status", "created_at")
		got = append(got, fmt.Sprintf("%v %v %v", payload["type"], data["status"], data["id"] == id))
	}
	if want := "[deposit.pending pending true deposit.confirmed confirmed true]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestFirstDepositEndsOnboarding(t *testing.T) {
	t.Parallel()
	s := conforming(t)
	for state, code := range map[string]string{
		"no_deposit": "api_not_enabled", "email_unconfirmed": "onboarding_incomplete", "api_not_enabled": "api_not_enabled", "ready": "",
	} {
		newcomer := s.as(s.post("/_sandbox/accounts", `{"state":"`+state+`"}`).ok(201).text("api_key"))
		id := newcomer.deposit("usdt", "100").ok(201).text("id")
		if state == "no_deposit" {
			newcomer.get("/api/v1/bins").refused(403, "onboarding_incomplete", "")
		}
		newcomer.confirm(id).ok(200)
		if answer := newcomer.get("/api/v1/bins"); code == "" {
			answer.ok(200)
		} else {
			answer.refused(403, code, "")
		}
		newcomer.balanced()
	}
}
