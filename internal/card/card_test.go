package card_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

func TestMain(m *testing.M) { sandboxtest.Run(m) }

// The stories of cards, each in a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// What a run finds of the money that others have moved, with both settings of idempotency_keys; of the short
// tests, with the default alone.
func TestKeys(t *testing.T) {
	t.Parallel()
	settings := []string{"honoured", "unknown"}
	if testing.Short() {
		settings = settings[1:] // the default
	}
	for _, keys := range settings {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			acctest.Scripts(t, "testdata/keys", "TF_VAR_keys="+keys)
		})
	}
}

const bin = "bin_ads_visa_us"

// object is what a configuration says.
type object = acctest.Object

// shown is what the API says of one card.
type shown struct {
	ID, Status, Label, Last4 string
	Balance                  usd.Amount
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body object) (issued shown) {
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

func read(s *acctest.Service, id string) (now shown) {
	s.Get("/cards/" + id).Into(&now)
	return now
}

// checkCard asks the sandbox for the only card that is not terminated, and for the wallet. Amounts are in cents.
func checkCard(s *acctest.Service, status string, balance, wallet usd.Amount) resource.TestCheckFunc {
	return func(*terraform.State) error {
		live := s.LiveCards()
		if len(live) != 1 {
			return fmt.Errorf("the live cards are %v, want one", live)
		}
		now := read(s, fmt.Sprint(live[0]["id"]))
		if now.Status != status || now.Balance != balance || s.Wallet() != wallet {
			return fmt.Errorf("the card is %s with %s USD, and the wallet holds %s; want %s, %s and %s",
				now.Status, now.Balance, s.Wallet(), status, balance, wallet)
		}
		return nil
	}
}

// checkDestroyed asks the sandbox whether all cards are terminated, with their balances back in the wallet but for
// fees and what was spent.
func checkDestroyed(s *acctest.Service, wallet usd.Amount) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if live := s.LiveCards(); len(live) > 0 {
			return fmt.Errorf("%v are not terminated", live)
		}
		if s.Wallet() != wallet {
			return fmt.Errorf("the wallet holds %s USD, want %s", s.Wallet(), wallet)
		}
		return nil
	}
}

// fault is one that calls meet: "before" or "after" the service does what they ask for; times 0 means always.
func fault(method, path, when string, times int, then any) object {
	return object{"method": method, "path": path, "when": when, "times": times, "then": then}
}
