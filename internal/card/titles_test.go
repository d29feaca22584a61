package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The titles by which tests in Go recognize diagnostics. The character … stands for any text.
const (
	titleActionRefused       = "Action refused after a failed update"
	titleAmountTooSmall      = "Amount too small"
	titleCapWithoutTopUp     = "max_top_up_per_month requires top_up"
	titleFrozenNow           = "Withdrawal froze the card"
	titleIDOrLabel           = "Exactly one of id and label is required"
	titleLabelLength         = "Invalid label"
	titleLabelLines          = "Value has control characters"
	titleLoadInRange         = "amount is lower than top_up.below"
	titleLoadTooSmall        = "Initial load too small"
	titleMovedAnotherAmount  = "Unexpected amount moved by the …: …"
	titleNoAmount            = "amount is null"
	titleNoCardLabelled      = "No live card has this label"
	titleNoCategories        = "allowed_categories is empty"
	titleNoLoad              = "amount is required for a new card"
	titleNotACardID          = "Invalid card id"
	titleNotImported         = "Could not import card …"
	titleProtected           = "Deletion protection prevents terminating …"
	titleReplacedWithoutLoad = "amount is required to replace a card"
	titleTopUpOrder          = "top_up.to is lower than top_up.below"
	titleUnknownBIN          = "Unknown BIN"
	titleUnknownOutcome      = "Unknown outcome: …"
	titleWithdrawsIntoRange  = "Withdrawal would trigger a top-up"
	titleWithdrawsTooMuch    = "Withdrawal exceeds the card's balance"
)

// TestTitles compares the table with the titles in the source. Those without a name are matched by scripts only.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		titleActionRefused,
		titleAmountTooSmall,
		titleCapWithoutTopUp,
		titleFrozenNow,
		titleIDOrLabel,
		titleLabelLength,
		titleLabelLines,
		titleLoadInRange,
		titleLoadTooSmall,
		titleMovedAnotherAmount,
		titleNoAmount,
		titleNoCardLabelled,
		titleNoCategories,
		titleNoLoad,
		titleNotACardID,
		titleNotImported,
		titleProtected,
		titleReplacedWithoutLoad,
		titleTopUpOrder,
		titleUnknownBIN,
		titleUnknownOutcome,
		titleWithdrawsIntoRange,
		titleWithdrawsTooMuch,
		"Card will be replaced and get a new number",
		"Card may freeze again",
		"Card was identified by its label",
		"Terminated card is removed from the state",
		"Unlikely merchant category",
		"Earlier transfer is still pending",
		"Possible duplicate card: …",
		"Top-up is limited by max_top_up_per_month",
		"Transfer made with incomplete transaction data",
		"Already applied: …",
		"Apply may stop because an earlier transfer is pending: …",
		"Apply will stop because an earlier transfer is pending: …",
		"Card is not topped up because of its status",
		"Card with this label already exists",
		"Cards are not refreshed",
		"Cards with generated labels already exist",
		"BIN category used for a card",
		"Could not …",
		"Could not …: …",
		"Could not …: an earlier transfer is pending",
		"Could not …: the card is …",
		"Labels of new cards were not checked",
		"Labels were checked against the newest cards only",
		"Plan funds a frozen card",
		"Plan funds a card that may not be usable",
		"Unexplained balance change before a transfer",
		"Private state cannot be written",
		"Several new cards share a label",
		"Label has leading or trailing spaces",
		"Adopted without verification",
		"Card freezes before it is topped up",
		"Card freezes at its first purchase",
		"spending_limit is lower than amount",
		"amount is no longer managed and moves no money",
		"Withdrawal will freeze the card",
		"Card was issued with different settings",
		"Card settings differ from the configuration",
		"Wallet cannot cover the replacement of …",
		"Plan abandons a pending transfer: …",
		"Plan may abandon a pending transfer: …",
		"Plan unfreezes a card that was frozen outside Terraform: …",
		"Two resources manage the same card",
		"Unreadable card",
		"Top-up is decided during apply",
		"amount becomes the baseline and moves no money",
		"Unexpected initial balance: …",
		"Several live cards have this label",
	})
}
