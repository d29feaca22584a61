package behavior

import "net/http"

// Choice is a quirk that is one of a few words.
type Choice struct {
	Name  string
	Value *string
	About string
	Words []string // the usual one first
}

// Choices are the quirks that are one of a few words.
func (q *Quirks) Choices() []Choice {
	return []Choice{
		{"idempotency", &q.Idempotency, "a key that comes again; conflict: 409 while the first call is in flight", []string{"honoured", Ignored, Conflict}},
		{"cards_total", &q.CardsTotal, "the total in the list of cards", []string{Present, "absent"}},
		{"withdraw_amount", &q.WithdrawAmount, "ignored: a withdrawal takes all", []string{"honoured", Ignored}},
		{"transactions_per_page", &q.TransactionsPerPage, "per_page of the list of transactions", []string{"honoured", Ignored, Refused}},
		{"transaction_period", &q.TransactionPeriod, "what dates in from and to stand for", []string{"days", Midnights, DatesOnly}},
		{"transaction_signs", &q.TransactionSigns, "which amounts are negative", []string{"unsigned", Refunds, Spending}},
		{"challenge_status", &q.ChallengeStatus, "the filter of 3D Secure challenges", []string{"honoured", Ignored}},
		{"repeated_state", &q.RepeatedState, "freezing what is frozen, unfreezing what is active", []string{"ok", Conflict}},
		{"frozen_money", &q.FrozenMoney, "money and details of a frozen card", []string{"allowed", Refused}},
		{"error_body", &q.ErrorBody, "how errors are written", []string{"json", Extended, Nested, Text}},
		{"retry_after", &q.RetryAfter, "what a 429 says about waiting", []string{Seconds, Date, "absent"}},
		{"balance", &q.Balance, "settled: an authorization lowers it only then", []string{LessHolds, "settled"}},
		{"card_values", &q.CardValues, "tidied: label trimmed, limit lowered to the BIN’s", []string{"as_asked", Tidied}},
		{"amounts", &q.Amounts, "how amounts are written", []string{Decimals, Plain, Strings, Floats}},
		{"timestamps", &q.Timestamps, "bare: without a zone", []string{UTC, Bare}},
		{"empty_metadata", &q.EmptyMetadata, "how no metadata are written", []string{Object, Array}},
	}
}

// Number is a quirk that is an integer.
type Number struct {
	Name        string
	Value       *int64
	About       string
	Usual       int64
	Least, Most int64
	Only        []int64 // which of them; empty: all
}

// Numbers are the quirks that are integers.
func (q *Quirks) Numbers() []Number {
	return []Number{
		{"cards_per_page", &q.CardsPerPage, "the most in a list of cards", 100, 1, 100, nil},
		{
			"terminated_status", &q.TerminatedStatus, "the answer to changes of a terminated card",
			http.StatusBadRequest, http.StatusBadRequest, http.StatusUnprocessableEntity,
			[]int64{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity},
		},
		{"cards_hidden_seconds", &q.CardsHiddenSeconds, "how long new cards are not shown", 0, 0, 600, nil},
		{"wallet_decimals", &q.WalletDecimals, "of the wallet’s own amounts", 2, 2, 6, nil},
		{"exp_year_digits", &q.ExpYearDigits, "of a card’s expiry", 4, 2, 4, []int64{2, 4}},
	}
}
