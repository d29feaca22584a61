package wallet_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

type object = acctest.Object

// USDT has more decimals than a card.
func TestBalance(t *testing.T) {
	t.Parallel()
	for decimals, want := range map[int]object{
		2: {"balance": acctest.Number("9877.85"), "pending_deposits": acctest.Number("12.34")},
		6: {"balance": acctest.Number("9877.851234"), "pending_deposits": acctest.Number("12.341234")},
	} {
		s := acctest.Start(t, contract.RequestsOnly())
		s.Quirks(object{"wallet_decimals": decimals})
		s.Issue("50.05")
		s.Issue("70.10")
		s.Post("/_sandbox/deposits", object{"currency": "btc", "amount": 12.34}).Must()
		got, diags := s.Protocol(nil).ReadDataSource("vcard_wallet_balance", object{})
		want["currency"], want["cards_active"], want["cards_total_balance"] = "USDT", acctest.Number("2"), acctest.Number("120.15")
		if diags.Errors() != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("with %d decimals: read %v, want %v: %s", decimals, got, want, diags.Errors())
		}
	}
}

// What the service does not tell is not zero.
func TestBalanceAlone(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t).Proxy(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `{"balance": 1, "currency": "USDT"}`)
		return true
	})
	got, diags := s.Protocol(nil).ReadDataSource("vcard_wallet_balance", object{})
	if diags.Must(t); got["cards_total_balance"] != nil || got["cards_active"] != nil {
		t.Errorf("read %v", got)
	}
}

func TestDepositAddresses(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	coins := []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
	all, diags := p.ReadDataSource("vcard_deposit_addresses", object{})
	diags.Must(t)
	byCurrency, _ := all["by_currency"].(object)
	if list, _ := all["addresses"].([]any); len(list) != len(coins) || len(byCurrency) != len(coins) {
		t.Errorf("read %d addresses of %d coins, want %d", len(list), len(byCurrency), len(coins))
	}
	for _, coin := range coins {
		entry, _ := byCurrency[coin].(object)
		if want := s.Get("/wallet/deposit-address?currency=" + coin).Data()[0]; !maps.Equal(entry, want) {
			t.Errorf("%s: %v, want %v", coin, entry, want)
		}
		one, diags := p.ReadDataSource("vcard_deposit_addresses", object{"currency": coin})
		diags.Must(t)
		if list, _ := one["addresses"].([]any); one["currency"] != coin || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(entry) {
			t.Errorf("%s alone: %v", coin, one)
		}
	}
	_, diags = p.ReadDataSource("vcard_deposit_addresses", object{"currency": "doge"})
	sandboxtest.Says(t, "the refusal of doge", diags.Errors(), append(coins, "currency", "doge")...)
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
