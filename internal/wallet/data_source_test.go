package wallet_test

import (
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type object = acctest.Object

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/data-sources/" + name + "/data-source.tf")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBalanceExample(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.8", "1.7")
	s := acctest.Start(t)
	s.Test(t, resource.TestStep{Config: s.Provider() + example(t, "vcard_wallet_balance")})
}

func TestBalance(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.AddQuirks(object{"wallet_decimals": 2})
	for _, amount := range []usd.Amount{50_05, 70_10} {
		s.Post("/cards", object{"bin_id": "bin_ads_visa_us", "amount": amount}).Must()
	}
	s.Post("/_sandbox/deposits", object{"currency": "btc", "amount": 12.34}).Must()
	got, diags := s.Protocol(nil).ReadDataSource("vcard_wallet_balance", object{})
	if text := diags.Errors(); text != "" {
		t.Fatal(text)
	}
	want := object{
		"balance": acctest.Number("9877.85"), "currency": "USDT", "pending_deposits": acctest.Number("12.34"),
		"cards_active": acctest.Number("2"), "cards_total_balance": acctest.Number("120.15"),
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("read %v", got)
	}
}

func TestDepositAddressesExample(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	s.Test(t, resource.TestStep{
		Config:           s.Provider() + example(t, "vcard_deposit_addresses"),
		ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("deposit_usdt", knownvalue.ObjectExact(map[string]knownvalue.Check{
				"address": knownvalue.StringExact(address(s, "usdt").Address), "network": knownvalue.StringExact(address(s, "usdt").Network),
			})),
		},
	})
}

type depositAddress struct{ Currency, Network, Address string }

// address asks the service for the address of one coin.
func address(s *acctest.Service, currency string) depositAddress {
	var response struct{ Data []depositAddress }
	s.Get("/wallet/deposit-address?currency=" + currency).Into(&response)
	return response.Data[0]
}

func TestDepositAddresses(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	coins := []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
	all, diags := p.ReadDataSource("vcard_deposit_addresses", object{})
	if text := diags.Errors(); text != "" {
		t.Fatal(text)
	}
	byCurrency, _ := all["by_currency"].(object)
	if list, _ := all["addresses"].([]any); len(list) != len(coins) || len(byCurrency) != len(coins) {
		t.Errorf("read %d addresses of %d coins, want %d", len(list), len(byCurrency), len(coins))
	}
	for _, coin := range coins {
		want := address(s, coin)
		entry, _ := byCurrency[coin].(object)
		if entry["currency"] != want.Currency || entry["address"] != want.Address || entry["network"] != want.Network {
			t.Errorf("%s: %v, want %v", coin, entry, want)
		}
		one, diags := p.ReadDataSource("vcard_deposit_addresses", object{"currency": coin})
		if text := diags.Errors(); text != "" {
			t.Fatal(text)
		}
		if list, _ := one["addresses"].([]any); one["currency"] != coin || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(entry) {
			t.Errorf("%s alone: %v", coin, one)
		}
	}
	_, diags = p.ReadDataSource("vcard_deposit_addresses", object{"currency": "doge"})
	for _, want := range slices.Concat(coins, []string{"currency", "doge"}) {
		if !strings.Contains(diags.Errors(), want) {
			t.Errorf("the refusal of doge lacks %q: %s", want, diags.Errors())
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	unknown := acctest.Configure(t, object{"sandbox": acctest.Unknown})
	for name, what := range map[string]string{"vcard_wallet_balance": "read the wallet balance", "vcard_deposit_addresses": "read the deposit addresses"} {
		if _, diags := unknown.ReadDataSource(name, object{}); !strings.Contains(diags.Errors(), what+", but they depend on values that are known only after apply") {
			t.Errorf("%s without a service: %s", name, diags.Errors())
		}
		foreign := acctest.Configure(t, object{"base_url": s.URL, "api_key": "sk_live_unknown"})
		if _, diags := foreign.ReadDataSource(name, object{}); !strings.Contains(diags.Errors(), "Could not "+what+": The service answered 401") {
			t.Errorf("%s with a foreign key: %s", name, diags.Errors())
		}
	}
}

// USDT has more decimals than a card.
func TestBalanceInSixDecimals(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.Quirks(object{"wallet_decimals": 6})
	exactly := func(text string) knownvalue.Check {
		f, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		return knownvalue.NumberExact(f)
	}
	s.Test(t, resource.TestStep{
		Config: s.Provider() + "data \"vcard_wallet_balance\" \"now\" {}\noutput \"wallet\" { value = data.vcard_wallet_balance.now }",
		ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("wallet", knownvalue.ObjectPartial(map[string]knownvalue.Check{
			"balance": exactly("10000.001234"), "pending_deposits": exactly("0.001234"),
		}))},
	})
}
