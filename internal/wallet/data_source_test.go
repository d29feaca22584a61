package wallet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestBalance(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Quirks(map[string]any{"wallet_decimals": 2})
	s.Issue("50.05")
	s.Issue("70.10")
	s.Post("/_sandbox/deposits", `{"currency": "btc", "amount": 12.34}`).Must()
	const balance = "data \"vcard_wallet_balance\" \"now\" {}\n"
	is := func(field string, value knownvalue.Check) statecheck.StateCheck {
		return acctest.Is("data.vcard_wallet_balance.now", field, value)
	}
	resource.Test(t, acctest.Life(t,
		acctest.Fails(fmt.Sprintf("provider \"vcard\" {\n base_url = %q\n api_key = \"sk_live_unknown\"\n}\n", s.URL)+balance,
			"Could not read the wallet balance", "The service answered 401"),
		resource.TestStep{
			Config: `
				resource "terraform_data" "later" { input = "sandbox.db" }
				provider "vcard" { sandbox = { path = terraform_data.later.output } }` + "\n" + balance,
			ExpectError: acctest.Saying("read the wallet balance, but they depend on values that are known only after apply"),
		},
		resource.TestStep{
			Config: s.Provider() + balance,
			ConfigStateChecks: []statecheck.StateCheck{
				is("balance", acctest.Exactly("9877.85")), is("pending_deposits", acctest.Exactly("12.34")),
				is("currency", knownvalue.StringExact("USDT")),
				is("cards_active", acctest.Exactly("2")), is("cards_total_balance", acctest.Exactly("120.15")),
			},
		},
		resource.TestStep{ // USDT has more decimals than a card
			PreConfig: func() { s.Quirks(map[string]any{"wallet_decimals": 6}) },
			Config:    s.Provider() + balance,
			ConfigStateChecks: []statecheck.StateCheck{
				is("balance", acctest.Exactly("9877.851234")), is("pending_deposits", acctest.Exactly("12.341234")),
				is("cards_total_balance", acctest.Exactly("120.15")),
			},
		},
		resource.TestStep{ // what the service does not tell is not zero
			PreConfig: func() {
				s.Fault(`{"method": "GET", "path": "/wallet/balance", "times": 0, "then": {"status": 200, "body": "{\"balance\": 1, \"currency\": \"USDT\"}"}}`)
			},
			Config: s.Provider() + balance,
			ConfigStateChecks: []statecheck.StateCheck{
				is("balance", acctest.Exactly("1")), is("cards_total_balance", knownvalue.Null()), is("cards_active", knownvalue.Null()),
			},
		},
	))
}

func TestDepositAddresses(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	coins := []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
	list, all, checks := "", map[string]knownvalue.Check{}, []statecheck.StateCheck{}
	for i, coin := range coins {
		fields := map[string]knownvalue.Check{}
		for field, value := range s.Get("/wallet/deposit-address?currency=" + coin).Data()[0] {
			fields[field] = knownvalue.StringExact(fmt.Sprint(value))
		}
		all[coin] = knownvalue.ObjectExact(fields)
		list += fmt.Sprintf("%q, ", coin)
		one := fmt.Sprintf("data.vcard_deposit_addresses.one[%d]", i)
		checks = append(checks,
			acctest.Is(one, "currency", knownvalue.StringExact(coin)),
			acctest.Is(one, "addresses", knownvalue.ListExact([]knownvalue.Check{all[coin]})),
			acctest.Is(one, "by_currency", knownvalue.MapExact(map[string]knownvalue.Check{coin: all[coin]})))
	}
	resource.Test(t, acctest.Life(t,
		acctest.Fails(strings.Replace(s.Provider(), s.Key, "sk_live_unknown", 1)+`data "vcard_deposit_addresses" "all" {}`,
			"Could not read the deposit addresses", "The service answered 401"),
		acctest.Fails(s.Provider()+`data "vcard_deposit_addresses" "one" { currency = "doge" }`, `currency must be "btc", "eth"`, `or "arb", got "doge"`),
		resource.TestStep{
			Config: s.Provider() + fmt.Sprintf(`
				data "vcard_deposit_addresses" "all" {}
				data "vcard_deposit_addresses" "one" {
					count    = %d
					currency = [%s][count.index]
				}`, len(coins), list),
			ConfigStateChecks: append(checks,
				acctest.Is("data.vcard_deposit_addresses.all", "by_currency", knownvalue.MapExact(all)),
				acctest.Is("data.vcard_deposit_addresses.all", "addresses", knownvalue.ListSizeExact(len(coins)))),
		},
	))
}
