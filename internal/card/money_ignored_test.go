package card_test

import (
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Somebody freezes a card for fraud, or unfreezes it, and the configuration says
// that this is nothing to change. At apply, core hands over what the configuration
// says without that.
func TestIgnoredFrozenIsLeftAlone(t *testing.T) {
	t.Parallel()
	const ignored = "\n  lifecycle {\n    ignore_changes = [frozen]\n  }"
	for name, c := range map[string]struct {
		before, then string
		by, status   string
		balance      usd.Amount
	}{
		"frozen, then funded":                          {"amount = 100\n  frozen = false", "amount = 140\n  frozen = false", "/freeze", "frozen", 140},
		"frozen, then withdrawn from":                  {"amount = 100\n  frozen = false\n  auto_freeze_at = 60", "amount = 50\n  frozen = false\n  auto_freeze_at = 60", "/freeze", "frozen", 50},
		"frozen, then protected":                       {"amount = 100\n  frozen = false", "amount = 100\n  frozen = false\n  deletion_protection = true", "/freeze", "frozen", 100},
		"unfrozen, then funded":                        {"amount = 100\n  frozen = true", "amount = 140\n  frozen = true", "/unfreeze", "active", 140},
		"left alone, and frozen by the own withdrawal": {"amount = 100\n  frozen = false\n  auto_freeze_at = 60", "amount = 50\n  frozen = false\n  auto_freeze_at = 60", "", "active", 50},
	} {
		for _, settings := range []string{"", honoured} {
			t.Run(name+", "+settings, func(t *testing.T) {
				t.Parallel()
				m := newMoney(t, "honoured", settings)
				m.apply(c.before + ignored)
				if c.by != "" {
					m.s.Post("/cards/"+onlyCard(m.s).ID+c.by, nil).OK(http.StatusOK)
				}
				m.apply(c.then + ignored)
				serviceHolds(t, m.s, c.status, c.balance*usd.Dollar, 9999*usd.Dollar-c.balance*usd.Dollar)
				plansNothing(t, m.w)
			})
		}
	}
}
