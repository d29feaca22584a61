package session_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestTitles compares the table with the titles in the source.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		"A response was lost, and the outcome found out",
		"Could not …",
		"Could not …: …",
		"More than one card may be given",
		"Plan exceeds max_taken_per_plan",
		"Plan moves too much money to count",
		"The provider failed",
		"The provider's configuration is not known yet",
		"Unexpected provider data",
		"Wallet, BINs and labels are not checked by this plan",
	})
}
