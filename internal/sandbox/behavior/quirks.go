// Package behavior has the settings that change the service's behavior: the rate limits of its keys, quirks
// (alternatives where the API's document leaves something open), and faults for the next calls.
package behavior

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Values of quirks. Only values that code compares with are constants. See Settings for their meaning.
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

// Quirks are the alternatives that the service uses. See Settings for their meaning.
type Quirks struct {
	Idempotency         string    `json:"idempotency"`
	CardsPerPage        int64     `json:"cards_per_page"`
	CardsTotal          string    `json:"cards_total"`
	WithdrawAmount      string    `json:"withdraw_amount"`
	TransactionsPerPage string    `json:"transactions_per_page"`
	TransactionPeriod   string    `json:"transaction_period"`
	TransactionSigns    string    `json:"transaction_signs"`
	ChallengeStatus     string    `json:"challenge_status"`
	RepeatedState       string    `json:"repeated_state"`
	TerminatedStatus    int64     `json:"terminated_status"`
	FrozenMoney         string    `json:"frozen_money"`
	ErrorBody           string    `json:"error_body"`
	RetryAfter          string    `json:"retry_after"`
	WalletFields        [2]string `json:"wallet_fields"` // the names of a BIN's two mobile-wallet fields
	Amounts             string    `json:"amounts"`
	Balance             string    `json:"balance"`
	CardValues          string    `json:"card_values"`
	CardsHiddenSeconds  int64     `json:"cards_hidden_seconds"`
	WalletDecimals      int64     `json:"wallet_decimals"`
	Timestamps          string    `json:"timestamps"`
	EmptyMetadata       string    `json:"empty_metadata"`
	ExpYearDigits       int64     `json:"exp_year_digits"`
}

// DefaultQuirks returns the quirks of a new sandbox.
var DefaultQuirks = sync.OnceValue(func() Quirks {
	q := Quirks{
		WalletFields:     [2]string{"wallet_a_pay", "wallet_b_pay"},
		CardsPerPage:     100,
		TerminatedStatus: http.StatusBadRequest,
		WalletDecimals:   2,
		ExpYearDigits:    4,
	}
	// The default of a text is its first word.
	for _, s := range q.Settings() {
		if s.Text != nil {
			*s.Text = s.Words[0]
		}
	}
	return q
})

// quirksSetting is the name of the setting with the quirks.
const quirksSetting = "quirks"

// ReadQuirks returns the quirks of the file.
func ReadQuirks(tx *store.Tx) (Quirks, error) {
	q := DefaultQuirks()
	err := tx.ReadSetting(quirksSetting, &q)
	return q, err
}

// Write replaces the quirks of the file.
func (q Quirks) Write(tx *store.Tx) error { return tx.WriteSetting(quirksSetting, q) }

// Setting is a limit or a quirk. Either Text or Number points to its value.
type Setting struct {
	Name    string   // in JSON
	About   string   // a description; empty for a limit
	Text    *string  // one of Words if there are any
	Number  *int64   // from Minimum to Maximum, and one of Words if there are any
	Words   []string // the valid values; for a Text, the default is the first
	Minimum int64
	Maximum int64
}

// Value returns the value of the setting as a text.
func (s Setting) Value() string {
	if s.Text != nil {
		return *s.Text
	}
	return strconv.FormatInt(*s.Number, 10)
}

// Settings returns the quirks, except the names of the wallet fields, as settings that point to the fields of q.
func (q *Quirks) Settings() []Setting {
	text := func(name string, value *string, about string, words ...string) Setting {
		return Setting{Name: name, About: about, Text: value, Words: words}
	}
	number := func(name string, value *int64, about string, minimum, maximum int64, words ...string) Setting {
		return Setting{Name: name, About: about, Number: value, Words: words, Minimum: minimum, Maximum: maximum}
	}
	return []Setting{
		text("idempotency", &q.Idempotency, "reuse of an idempotency key; conflict: 409 while the first call runs", "honoured", Ignored, Conflict),
		text("cards_total", &q.CardsTotal, "the total in the list of cards", Present, "absent"),
		text("withdraw_amount", &q.WithdrawAmount, "ignored: every withdrawal takes the whole balance", "honoured", Ignored),
		text("transactions_per_page", &q.TransactionsPerPage, "per_page of the list of transactions", "honoured", Ignored, Refused),
		text("transaction_period", &q.TransactionPeriod, "meaning of dates in from and to", "days", Midnights, DatesOnly),
		text("transaction_signs", &q.TransactionSigns, "which amounts are negative", "unsigned", Refunds, Spending),
		text("challenge_status", &q.ChallengeStatus, "the filter of 3D Secure challenges", "honoured", Ignored),
		text("repeated_state", &q.RepeatedState, "freezing a frozen card, unfreezing an active one", "ok", Conflict),
		text("frozen_money", &q.FrozenMoney, "funding, withdrawals and details of a frozen card", "allowed", Refused),
		text("error_body", &q.ErrorBody, "format of errors", "json", Extended, Nested, Text),
		text("retry_after", &q.RetryAfter, "Retry-After of a 429 or 503", Seconds, Date, "absent"),
		text("balance", &q.Balance, "settled: the balance falls at settlement, not at authorization", LessHolds, "settled"),
		text("card_values", &q.CardValues, "tidied: label trimmed, spending limit lowered to the BIN’s maximum, categories returned sorted and in upper case", "as_asked", Tidied),
		text("amounts", &q.Amounts, "format of amounts", Decimals, Plain, Strings, Floats),
		text("timestamps", &q.Timestamps, "bare: without a zone", UTC, Bare),
		text("empty_metadata", &q.EmptyMetadata, "format of empty metadata", Object, Array),
		number("cards_per_page", &q.CardsPerPage, "maximum per_page of the list of cards", 1, 100),
		number("terminated_status", &q.TerminatedStatus, "response to changing a terminated card or reading its details", 400, 422, "400", "404", "409", "422"),
		number("cards_hidden_seconds", &q.CardsHiddenSeconds, "how long reads do not show new cards", 0, 600),
		number("wallet_decimals", &q.WalletDecimals, "decimals of the wallet’s amounts", 2, 6),
		number("exp_year_digits", &q.ExpYearDigits, "digits of the year of a card’s expiry", 2, 4, "2", "4"),
	}
}

// Rewrite writes the values of a body in the notation that the quirks choose. The body is that of a response or of a
// webhook's delivery. Rewrite treats numbers with a decimal point as amounts. Metadata belongs to the caller and is not
// changed, unless it is empty.
func (q Quirks) Rewrite(encoded []byte) ([]byte, error) {
	unchanged := q.Amounts == Decimals && q.Timestamps == UTC && q.EmptyMetadata == Object
	if unchanged {
		return encoded, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var body any
	err := decoder.Decode(&body)
	if err != nil {
		return nil, fmt.Errorf("rewriting the values of a body: %w", err)
	}
	return wire.Encode(q.rewriteValue("", body)), nil
}

// rewriteValue returns a value of a body in the notation of the quirks. The name is that of the member with the value.
// It is empty for the whole body and for elements of arrays.
func (q Quirks) rewriteValue(name string, value any) any {
	switch v := value.(type) {
	case json.Number:
		return q.rewriteNumber(v)
	case string:
		isTime := name == "created_at" || name == "expires_at"
		if isTime && q.Timestamps == Bare {
			return strings.TrimSuffix(v, "Z")
		}
	case []any:
		for i := range v {
			v[i] = q.rewriteValue("", v[i])
		}
	case map[string]any:
		if name == "metadata" {
			if q.EmptyMetadata == Array && len(v) == 0 {
				return []any{}
			}
			return v
		}
		for member := range v {
			v[member] = q.rewriteValue(member, v[member])
		}
	}
	return value
}

// rewriteNumber returns an amount in the notation of the quirks. It does not change a number without a decimal point.
func (q Quirks) rewriteNumber(number json.Number) any {
	text := number.String()
	isAmount := strings.Contains(text, ".")
	if !isAmount {
		return number
	}
	switch q.Amounts {
	case Strings:
		return text
	case Plain:
		plain := strings.TrimRight(text, "0")
		plain = strings.TrimSuffix(plain, ".")
		return json.Number(plain)
	case Floats:
		return json.Number(text + "0000000000004") // like the rounding error of a binary fraction
	}
	return number
}

// WalletAmount returns an amount of the wallet as JSON. A quirk can add fractions of a cent.
func (q Quirks) WalletAmount(a usd.Amount) json.Number {
	const fraction = "1234" // any digits; the quirk decides how many of them follow the two decimals of cents
	if q.WalletDecimals > 2 {
		digits := q.WalletDecimals - 2
		return json.Number(a.String() + fraction[:digits])
	}
	return json.Number(a.String())
}
