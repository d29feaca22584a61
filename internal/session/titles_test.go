package session_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestTitles compares the table with the titles in the source.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		"Recovered from a lost response",
		"Could not …",
		"Could not …: …",
		"Amount exceeds max_card_load",
		"Plan exceeds max_taken_per_plan",
		"Plan total is out of range",
		"Internal provider error",
		"Provider configuration is not known yet",
		"Unexpected provider data",
		"Wallet, BINs and labels are not checked by this plan",
	})
}
