package card_test

import (
	"testing"
)

// An amount that was typed in cents, wherever one card is given money.
func TestCentsForDollars(t *testing.T) {
	t.Parallel()
	const meant = " must be at most 500.00 USD, which is max_card_load in the provider configuration, got 25000.00." +
		" If 25000.00 was meant in cents, write 250.00: amounts are in USD."
	tell(t, map[string]story{"typed": {nil, `
			told max_card_load = 500
			apply amount = 250; frozen = true; top_up = { below = 50, to = 500 }
			plan-stops amount = 25000
			says Error: More than one card may be given | amount` + meant + `
			plan-stops amount = 250; top_up = { below = 50, to = 25000 }
			says Error: More than one card may be given | top_up.to` + meant + `
			plan-stops amount = 500.01
			says got 500.01. | write 5.00 | raise max_card_load
			holds 250`}})
}
