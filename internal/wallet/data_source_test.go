package wallet_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

func TestAccWalletBalanceDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Quirks(map[string]any{"wallet_decimals": 2})
	s.Issue("50.05")
	s.Issue("70.10")
	s.Post("/_sandbox/deposits", `{"currency": "btc", "amount": 12.34}`).Must()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_wallet_balance" "now" {}`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("balance"), acctest.Exactly("9877.85")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("currency"), knownvalue.StringExact("USDT")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("pending_deposits"), acctest.Exactly("12.34")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_active"), knownvalue.Int64Exact(2)),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_total_balance"), acctest.Exactly("120.15")),
				},
			},
			{ // USDT may have more decimals than a card
				PreConfig: func() { s.Quirks(map[string]any{"wallet_decimals": 6}) },
				Config: s.ProviderConfig() + `
					data "vcard_wallet_balance" "now" {}`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("balance"), acctest.Exactly("9877.851234")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("pending_deposits"), acctest.Exactly("12.341234")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_total_balance"), acctest.Exactly("120.15")),
				},
			},
			{ // what the service does not say is null, not zero
				PreConfig: func() {
					s.Fault(`{"method": "GET", "path": "/wallet/balance", "times": 0, "then": {"status": 200, "body": "{\"balance\": 1, \"currency\": \"USDT\"}"}}`)
				},
				Config: s.ProviderConfig() + `
					data "vcard_wallet_balance" "now" {}`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("balance"), acctest.Exactly("1")),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_active"), knownvalue.Null()),
					statecheck.ExpectKnownValue("data.vcard_wallet_balance.now", tfjsonpath.New("cards_total_balance"), knownvalue.Null()),
				},
			},
		},
	})
}

func TestAccWalletBalanceDataSource_refused(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: fmt.Sprintf(`
					provider "vcard" {
						base_url = %q
						api_key  = "sk_live_unknown"
					}
					data "vcard_wallet_balance" "now" {}`, s.URL),
				ExpectError: acctest.Error("The service rejected the API key", "read the wallet balance", "401"),
			},
			{
				Config: `
					resource "terraform_data" "later" { input = "sandbox.db" }
					provider "vcard" { sandbox = { path = terraform_data.later.output } }
					data "vcard_wallet_balance" "now" {}`,
				ExpectError: acctest.Error("Provider configuration is not known yet", "read the wallet balance"),
			},
		},
	})
}

// One lookup without a currency lists all coins, and one with a currency lists that coin.
func TestAccDepositAddressesDataSource(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	coins := []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
	byCurrency := map[string]knownvalue.Check{}
	var checks []statecheck.StateCheck
	for i, coin := range coins {
		address := s.Get("/wallet/deposit-address?currency=" + coin).Data()[0]
		byCurrency[coin] = knownvalue.ObjectExact(map[string]knownvalue.Check{
			"currency": knownvalue.StringExact(coin),
			"network":  knownvalue.StringExact(fmt.Sprint(address["network"])),
			"address":  knownvalue.StringExact(fmt.Sprint(address["address"])),
		})
		one := fmt.Sprintf("data.vcard_deposit_addresses.one[%d]", i)
		checks = append(checks,
			statecheck.ExpectKnownValue(one, tfjsonpath.New("currency"), knownvalue.StringExact(coin)),
			statecheck.ExpectKnownValue(one, tfjsonpath.New("addresses"), knownvalue.ListExact([]knownvalue.Check{byCurrency[coin]})),
			statecheck.ExpectKnownValue(one, tfjsonpath.New("by_currency"), knownvalue.MapExact(map[string]knownvalue.Check{coin: byCurrency[coin]})),
		)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: s.ProviderConfig() + `
					data "vcard_deposit_addresses" "one" { currency = "doge" }`,
				ExpectError: acctest.Error("Invalid Attribute Value Match", `"arb"`, `"doge"`),
			},
			{
				Config: fmt.Sprintf(`
					provider "vcard" {
						base_url = %q
						api_key  = "sk_live_unknown"
					}
					data "vcard_deposit_addresses" "all" {}`, s.URL),
				ExpectError: acctest.Error("The service rejected the API key", "read the deposit addresses", "401"),
			},
			{
				Config: s.ProviderConfig() + `
					data "vcard_deposit_addresses" "all" {}
					data "vcard_deposit_addresses" "one" {
						count    = 10
						currency = ["btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"][count.index]
					}`,
				ConfigStateChecks: append(checks,
					statecheck.ExpectKnownValue("data.vcard_deposit_addresses.all", tfjsonpath.New("by_currency"), knownvalue.MapExact(byCurrency)),
					statecheck.ExpectKnownValue("data.vcard_deposit_addresses.all", tfjsonpath.New("addresses"), knownvalue.ListSizeExact(len(coins))),
				),
			},
		},
	})
}
