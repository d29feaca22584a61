package sandbox_test

import (
	"fmt"
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
