package sandboxtest

import (
	"maps"
	"net/http"
	"os"
)

// compatibleQuirks are alternatives which a client that keeps the document has to
// take without its user noticing, all at once. Not among them are those that do
// something else with money, or refuse what the default allows.
func compatibleQuirks() map[string]any {
	return map[string]any{
		"idempotency":           "conflict",
		"cards_per_page":        7,
		"cards_total":           "absent",
		"transactions_per_page": "refused",
		"transaction_period":    "dates_only",
		"transaction_signs":     "spending",
		"challenge_status":      "ignored",
		"repeated_state":        "conflict",
		"terminated_status":     http.StatusConflict,
		"error_body":            "nested",
		"retry_after":           "date",
		"wallet_fields":         []string{"orchard_pay", "in_robot_wallet"},
		"amounts":               "floats",
		"wallet_decimals":       6,
		"timestamps":            "bare",
		"empty_metadata":        "array",
		"exp_year_digits":       2,
		"card_values":           "tidied",
	}
}

// WithQuirks tells whether this run of the tests is the one against all
// compatible quirks together. A test whose subject is what the service does by
// default, such as the number of calls, calls Quirks(nil) first.
func WithQuirks() bool { return os.Getenv("SANDBOX_QUIRKS") == "all" }

// Quirks sets the quirks; those that are not named are as by default.
func (c *Client) Quirks(quirks map[string]any) {
	c.T.Helper()
	if quirks == nil {
		quirks = map[string]any{}
	}
	c.Put("/_sandbox/quirks", quirks).OK(http.StatusOK)
}

// AddQuirks sets the named quirks and leaves the others as they are.
func (c *Client) AddQuirks(quirks map[string]any) {
	c.T.Helper()
	all := c.Get("/_sandbox/quirks").OK(http.StatusOK).Body
	maps.Copy(all, quirks)
	c.Quirks(all)
}
