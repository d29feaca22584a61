package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The titles by which tests in Go recognize diagnostics. The character … stands for any text.
const (
	titleActionRefused       = "Action refused after a failed update"
	titleAmountTooSmall      = "Amount too small"
	titleCapWithoutTopUp     = "A cap without top-ups"
	titleFrozenNow           = "… is frozen now"
	titleIDOrLabel           = "Either id or label"
	titleLabelLength         = "Not a label"
	titleLabelLines          = "More than a line"
	titleLoadInRange         = "Initial load in the top-up range"
	titleLoadTooSmall        = "Initial load too small"
	titleMetadataKeys        = "Too many metadata keys"
	titleMovedAnotherAmount  = "More or less money moved than asked: …"
	titleNoAmount            = "No amount"
	titleNoCardLabelled      = "No live card is labelled …"
	titleNoCategories        = "No categories"
	titleNoLoad              = "A new card needs a load"
	titleNotACardID          = "Not a card id"
	titleNotImported         = "Could not import card …"
	titleProtected           = "Deletion protection keeps …"
	titleReplacedWithoutLoad = "A card would be replaced, without a load for the new one"
	titleTopUpOrder          = "Top-up ends under its start"
	titleUnknownBIN          = "Unknown BIN"
	titleUnknownOutcome      = "It is not known whether this took effect: …"
	titleWithdrawsIntoRange  = "Withdrawal into the top-up range"
	titleWithdrawsTooMuch    = "The card holds less than that"
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
		titleMetadataKeys,
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
		"A card is replaced, and its number ends",
		"A card may freeze again at once",
		"A card was recognized by its label: …",
		"A card was terminated outside Terraform",
		"A category is not written as the service writes them",
		"A movement of money is still undecided",
		"A second card may have been issued: …",
		"A top-up is cut by the month's cap",
		"A transaction of a card cannot be counted",
		"Already applied: …",
		"Apply moves no money on …: an earlier movement is undecided",
		"Card is not topped up because of its status",
		"Card with this label already exists",
		"Cards are not refreshed",
		"Cards with generated labels already exist",
		"Category of a BIN, not of a card",
		"Could not …",
		"Could not …: an earlier movement of money is undecided",
		"Could not …: the card is …",
		"Labels of new cards were not checked",
		"Labels were checked against the newest 1,000 cards only",
		"Money goes to a card that is frozen",
		"Money goes to a card that may not be usable",
		"Money moved on a card without Terraform",
		"Private state cannot be written",
		"Several new cards share a label",
		"Spaces around the label",
		"Taken over without proof: …",
		"The card freezes before it is topped up",
		"The card freezes with its first purchase",
		"The card is loaded with more than it may spend in a month",
		"The load is no longer managed; no money moves",
		"The service freezes a card that this plan withdraws from",
		"The service issued … otherwise than asked",
		"The service shows a card otherwise than it was asked for",
		"The wallet cannot pay for the card that replaces …",
		"This plan gives up an undecided movement of …",
		"This plan may give up an undecided movement of …",
		"This plan unfreezes …",
		"Two resources manage the same card",
		"Unreadable card",
		"Whether a card is topped up is decided during apply",
		"amount is taken as the baseline; no money moves",
		"… holds … USD in place of … USD",
		"… live cards are labelled …",
	})
}
