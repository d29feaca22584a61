// Package behavior holds how the service behaves for the time being: the limits
// of its keys, the quirks in which it may differ where its document leaves room,
// and the faults that a test has set for its calls.
package behavior

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
func ReadQuirks(tx *store.Tx) (Quirks, error) {
	q := DefaultQuirks()
	return q, tx.ReadSetting(quirksSetting, &q)
}

// Write replaces the quirks of the file.
func (q Quirks) Write(tx *store.Tx) error { return tx.WriteSetting(quirksSetting, q) }

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

// Rewrite puts the values of a response into their notation. The response is JSON
// as this service encodes it: amounts with at least two decimals, and no other number with
// a decimal point. Metadata is the caller's own and stays.
func (q Quirks) Rewrite(response []byte) ([]byte, error) {
	if q.Amounts == Decimals && q.Timestamps == UTC && q.EmptyMetadata == Object {
		return response, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return nil, fmt.Errorf("rewriting the values of a response: %w", err)
	}
	return wire.Encode(q.rewritten("", body)), nil
}

func (q Quirks) rewritten(name string, value any) any {
	switch v := value.(type) {
	case json.Number:
		return q.amount(v)
	case string:
		if q.Timestamps == Bare && (name == "created_at" || name == "expires_at") {
			return strings.TrimSuffix(v, "Z")
		}
	case []any:
		for i := range v {
			v[i] = q.rewritten("", v[i])
		}
	case map[string]any:
		if name == "metadata" {
			if q.EmptyMetadata == Array && len(v) == 0 {
				return []any{}
			}
			return v
		}
		for name := range v {
			v[name] = q.rewritten(name, v[name])
		}
	}
	return value
}

func (q Quirks) amount(number json.Number) any {
	decimals := number.String()
	if !strings.Contains(decimals, ".") {
		return number
	}
	switch q.Amounts {
	case Strings:
		return decimals
	case Plain:
		return json.Number(strings.TrimSuffix(strings.TrimRight(decimals, "0"), "."))
	case Floats:
		return json.Number(decimals + "0000000000004")
	}
	return number
}

// WalletAmount writes an amount of the wallet: with the fraction of a cent that
// its coins come to besides, where the quirks say so.
func (q Quirks) WalletAmount(a usd.Amount) json.Number {
	if q.WalletDecimals > 2 {
		return json.Number(a.String() + "1234"[:q.WalletDecimals-2])
	}
	return json.Number(a.String())
}
