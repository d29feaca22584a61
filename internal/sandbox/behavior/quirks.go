// Package behavior holds how the service behaves for the time being: the limits
// of its keys, the quirks in which it may differ where its document leaves room,
// and the faults that a test has set for its calls.
package behavior

import "github.com/vcard/terraform-provider-vcard/internal/sandbox/store"

// The values of quirks that something is decided by; Choices has them all.
const (
	Ignored  = "ignored"
	Conflict = "conflict" // 409
	Present  = "present"
	Refused  = "refused"

	Extended = "extended"
	Nested   = "nested"
	Text     = "text"

	Seconds = "seconds"
	Date    = "date"

	Decimals = "decimals"
	Plain    = "plain"
	Strings  = "strings"
	Floats   = "floats"

	LessHolds = "less_holds"
	Tidied    = "tidied"

	Refunds  = "refunds"
	Spending = "spending"

	Midnights = "midnights"
	DatesOnly = "dates_only"

	UTC  = "utc"
	Bare = "bare"

	Object = "object"
	Array  = "array"
)

// Quirks are the alternatives that the service may take.
type Quirks struct {
	// Idempotency: honoured, Ignored, or Conflict while the first call with a
	// key is in flight.
	Idempotency string `json:"idempotency"`
	// CardsPerPage caps per_page of the list of cards.
	CardsPerPage int64 `json:"cards_per_page"`
	// CardsTotal: whether that list says its total, Present or absent.
	CardsTotal string `json:"cards_total"`
	// WithdrawAmount: honoured, or Ignored, when a withdrawal takes all.
	WithdrawAmount string `json:"withdraw_amount"`
	// TransactionsPerPage: honoured, Ignored, or Refused with a 400.
	TransactionsPerPage string `json:"transactions_per_page"`
	// TransactionPeriod is what from and to are taken for: dates are whole days, or
	// their Midnights, and times are times; or DatesOnly, with a 400 for times.
	TransactionPeriod string `json:"transaction_period"`
	// TransactionSigns: unsigned, negative Refunds, or negative Spending, which is
	// all the others and every fee.
	TransactionSigns string `json:"transaction_signs"`
	// ChallengeStatus: whether the filter of 3DS challenges is honoured, or Ignored:
	// then all are listed, those that are settled without their code.
	ChallengeStatus string `json:"challenge_status"`
	// RepeatedState: the response to freezing a frozen card and unfreezing an
	// active one, 200 or Conflict.
	RepeatedState string `json:"repeated_state"`
	// TerminatedStatus is the response to changes and details of a terminated card.
	TerminatedStatus int64 `json:"terminated_status"`
	// FrozenMoney: whether fund, withdraw and details of a frozen card are
	// allowed or Refused.
	FrozenMoney string `json:"frozen_money"`
	// ErrorBody of an error: json of two fields, Extended by more, Nested below
	// error, or Text.
	ErrorBody string `json:"error_body"`
	// RetryAfter of a 429: Seconds, a Date, or absent.
	RetryAfter string `json:"retry_after"`
	// WalletFields are the names of a BIN's two mobile-wallet fields.
	WalletFields [2]string `json:"wallet_fields"`
	// Amounts: numbers with two Decimals, Plain numbers as short as can be, Strings,
	// or numbers as binary Floats have them, which are off by their noise.
	Amounts string `json:"amounts"`
	// Balance of a card: LessHolds, or settled, when an authorization lowers it
	// only once it is settled.
	Balance string `json:"balance"`
	// CardValues: a new card is as asked, or Tidied: its label trimmed, its limit
	// at most the BIN's maximum, its categories told in upper case and sorted.
	CardValues string `json:"card_values"`
	// CardsHiddenSeconds is for how long lists and reads do not show a new card.
	CardsHiddenSeconds int64 `json:"cards_hidden_seconds"`
	// WalletDecimals is how many decimals the wallet's own amounts have, up to six.
	WalletDecimals int64 `json:"wallet_decimals"`
	// Timestamps: with Z for UTC, or Bare of a zone.
	Timestamps string `json:"timestamps"`
	// EmptyMetadata is an Object or an Array.
	EmptyMetadata string `json:"empty_metadata"`
	// ExpYearDigits are four, or two.
	ExpYearDigits int64 `json:"exp_year_digits"`
}

// DefaultQuirks returns the sandbox as it is when nobody asked for anything else.
func DefaultQuirks() Quirks {
	q := Quirks{WalletFields: [2]string{"wallet_a_pay", "wallet_b_pay"}}
	for _, c := range q.Choices() {
		*c.Value = c.Words[0]
	}
	for _, n := range q.Numbers() {
		*n.Value = n.Usual
	}
	return q
}

const quirksSetting = "quirks"

// ReadQuirks returns the quirks of the file.
func ReadQuirks(tx *store.Tx) Quirks {
	q := DefaultQuirks()
	tx.ReadSetting(quirksSetting, &q)
	return q
}

// Write replaces the quirks of the file.
func (q Quirks) Write(tx *store.Tx) { tx.WriteSetting(quirksSetting, q) }
