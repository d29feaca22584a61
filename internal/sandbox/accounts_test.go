package sandbox_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// Only the first account's key lists the accounts of the file.
func TestAccountsAreListed(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.Post("/_sandbox/accounts", `{"state":"no_deposit"}`).OK(201)
	list := s.Get("/_sandbox/accounts").OK(200)
	if got := fmt.Sprint(list.Data()); list.Text("total") != "2" || got != fmt.Sprintf("[map[account_id:acct_first state:ready] map[account_id:%s state:no_deposit]]", other.Text("account_id")) {
		t.Errorf("the accounts are %s", list.Raw)
	}
	if second := s.Get("/_sandbox/accounts?page=2&per_page=1").OK(200).Data(); len(second) != 1 || second[0]["account_id"] != other.Text("account_id") {
		t.Errorf("the second page is %v", second)
	}
	s.as(other.Text("api_key")).Get("/_sandbox/accounts").Refused(403, "first_account_only", "lists them")
}

func TestOneFaultIsRemoved(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"/bins", "/cards"} {
		s.Post("/_sandbox/faults", `{"method":"GET","path":"`+path+`","times":0,"then":{"status":503}}`).OK(201)
	}
	const faults = "/_sandbox/faults/"
	first := fmt.Sprint(s.Get("/_sandbox/faults").Data()[0]["id"])
	left := s.Call(http.MethodDelete, faults+first, "").OK(200).Data()
	if len(left) != 1 || left[0]["path"] != "/cards" {
		t.Errorf("left are %v", left)
	}
	s.Get("/api/v1/bins").OK(200)
	s.Get("/api/v1/cards").Refused(503, "injected_fault", "")
	for _, id := range []string{first, "999", "x", "-1"} {
		s.Call(http.MethodDelete, faults+id, "").Refused(404, "not_found", "")
	}
	s.Call(http.MethodDelete, faults+fmt.Sprint(left[0]["id"]), `{"x":1}`).Refused(400, "invalid_request", "")
}

// However many calls find a fault at once, it is applied as often as it says.
func TestAFaultIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 10 {
		s.Fault(`{"method":"GET","path":"/bins","times":1,"then":{"status":503}}`)
		var group sync.WaitGroup
		var faulty, others atomic.Int64
		for range 12 {
			group.Go(func() {
				if a := s.Get("/bins"); a.Body["error"] == "injected_fault" {
					faulty.Add(1)
				} else if a.Status == http.StatusOK {
					others.Add(1)
				}
			})
		}
		group.Wait()
		if faulty.Load() != 1 || others.Load() != 11 {
			t.Errorf("%d calls met the fault, %d did not", faulty.Load(), others.Load())
		}
	}
}

// What every account meets is changed by the first one's key alone.
func TestOthersChangeNothingForAll(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201).Text("api_key"))
	for _, call := range [][3]string{
		{http.MethodPost, "/clock", `{"advance":"1h"}`},
		{http.MethodPut, "/limits", `{}`},
		{http.MethodPut, "/quirks", `{}`},
		{http.MethodPost, "/faults", `{"method":"GET","path":"/bins","then":{"status":503}}`},
		{http.MethodDelete, "/faults", ""},
		{http.MethodDelete, "/faults/1", ""},
		{http.MethodPost, "/seed", `{}`},
		{http.MethodPost, "/simulate", `{"days":1}`},
		{http.MethodPost, "/reset", ""},
	} {
		other.Call(call[0], "/_sandbox"+call[1], call[2]).Refused(403, "first_account_only", "first account")
	}
	for _, path := range []string{"/clock", "/limits", "/quirks", "/faults"} {
		other.Get("/_sandbox" + path).OK(200)
	}
}

func TestAccountsAreCapped(t *testing.T) {
	t.Parallel()
	s := start(t)
	for range 99 {
		s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
	}
	s.Post("/_sandbox/accounts", `{"state":"ready"}`).Refused(400, "invalid_request", "100 accounts")
	s.Post("/_sandbox/reset", "").OK(200)
	s.Post("/_sandbox/accounts", `{"state":"ready"}`).OK(201)
}

func (s *service) deposit(currency, amount string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/deposits", fmt.Sprintf(`{"currency":%q,"amount":%s}`, currency, amount))
}

func (s *service) confirm(deposit string) sandboxtest.Response {
	s.T.Helper()
	return s.Post("/_sandbox/deposits/"+deposit+"/confirm", "")
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
