package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func (s *service) deposit(currency, amount string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/deposits", fmt.Sprintf(`{"currency":%q,"amount":%s}`, currency, amount))
}

func (s *service) confirm(deposit string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/deposits/"+deposit+"/confirm", "")
}

// expectWallet fails the test unless the wallet shows these amounts.
func (s *service) expectWallet(balance, pending string) {
	s.T.Helper()
	if got := s.Get("/api/v1/wallet/balance").OK(200); got.Text("balance") != balance || got.Text("pending_deposits") != pending {
		s.T.Errorf("the wallet is %s, want %s with %s pending", got.Raw, balance, pending)
	}
}

func TestDeposits(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped, wallet(0))
	addresses := s.Get("/api/v1/wallet/deposit-address").OK(200).Data()
	if len(addresses) != 10 {
		t.Fatalf("%d currencies", len(addresses))
	}
	var ids []string
	for i, address := range addresses {
		d := s.deposit(address["currency"].(string), "10.01").OK(http.StatusCreated)
		fields(t, d.Body, "id", "currency", "network", "address", "amount", "status", "created_at")
		for _, field := range []string{"currency", "network", "address"} {
			if d.Body[field] != address[field] {
				t.Errorf("%s of a deposit is %v, of its address %v", field, d.Body[field], address[field])
			}
		}
		if d.Text("amount") != "10.01" || d.Text("status") != "pending" || d.Text("created_at") != "2026-03-15T12:00:00.000Z" {
			t.Errorf("answered %s", d.Raw)
		}
		ids = append(ids, d.Text("id"))
		s.expectWallet("0.00", fmt.Sprintf("%d.%02d", 10*(i+1), i+1))
	}
	for i, id := range ids {
		d := s.confirm(id).OK(200)
		fields(t, d.Body, "id", "currency", "network", "address", "amount", "status", "created_at")
		if d.Text("id") != id || d.Text("status") != "confirmed" || d.Text("amount") != "10.01" {
			t.Errorf("answered %s", d.Raw)
		}
		s.confirm(id).Refused(400, "invalid_request", "confirmed already")
		left := len(ids) - i - 1
		s.expectWallet(fmt.Sprintf("%d.%02d", 10*(i+1), i+1), fmt.Sprintf("%d.%02d", 10*left, left))
	}
	s.expectBalances(map[string]string{"wallet": "100.10", "deposits": "-100.10"})
}

func TestDepositsRefuse(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
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
		s.Post("/_sandbox/deposits", body).Refused(400, "invalid_request", text)
	}
	id := s.deposit("btc", "1").Text("id")
	s.Post("/_sandbox/deposits/"+id+"/confirm", `{"amount":2}`).Refused(400, "invalid_request", `"amount"`)
	s.confirm("dep_x").Refused(404, "not_found", "dep_x")
	foreign := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
	foreign.confirm(id).Refused(404, "not_found", id)
	foreign.expectWallet("0.00", "0.00")
	s.expectWallet("10000.00", "1.00")
	s.Balanced()
}

func TestDepositEvents(t *testing.T) {
	t.Parallel()
	s := startWithContract(t)
	hook := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).Text("id")
	id := s.deposit("sol", "5").Text("id")
	s.confirm(id).OK(200)
	s.confirm(id).Refused(400, "invalid_request", "")
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
	s := startWithContract(t)
	for state, code := range map[string]string{
		"no_deposit": "api_not_enabled", "email_unconfirmed": "onboarding_incomplete", "api_not_enabled": "api_not_enabled", "ready": "",
	} {
		newcomer := s.as(s.Post("/_sandbox/accounts", `{"state":"`+state+`"}`).OK(201).Text("api_key"))
		id := newcomer.deposit("usdt", "100").OK(201).Text("id")
		if state == "no_deposit" {
			newcomer.Get("/api/v1/bins").Refused(403, "onboarding_incomplete", "")
		}
		newcomer.confirm(id).OK(200)
		if got := newcomer.Get("/api/v1/bins"); code == "" {
			got.OK(200)
		} else {
			got.Refused(403, code, "")
		}
		newcomer.Balanced()
	}
}
