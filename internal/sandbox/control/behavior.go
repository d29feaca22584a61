package control

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func readQuirks(c *server.Call) (wire.Response, error) { return wire.OK(c.Quirks), nil }

// replaceQuirks sets all quirks; one that is left out is as by default.
func replaceQuirks(c *server.Call) (wire.Response, error) {
	f, q := c.Fields(), behavior.DefaultQuirks()
	q.Idempotency = f.OptionalChoice("idempotency", q.Idempotency, behavior.Honoured, behavior.Ignored, behavior.Conflict)
	q.CardsPerPage = f.Integer("cards_per_page", q.CardsPerPage, 1, q.CardsPerPage)
	q.CardsTotal = f.OptionalChoice("cards_total", q.CardsTotal, behavior.Present, behavior.Absent)
	q.WithdrawAmount = f.OptionalChoice("withdraw_amount", q.WithdrawAmount, behavior.Honoured, behavior.Ignored)
	q.TransactionsPerPage = f.OptionalChoice("transactions_per_page", q.TransactionsPerPage, behavior.Honoured, behavior.Ignored, behavior.Refused)
	q.TransactionPeriod = f.OptionalChoice("transaction_period", q.TransactionPeriod, behavior.Days, behavior.Midnights, behavior.DatesOnly)
	q.TransactionSigns = f.OptionalChoice("transaction_signs", q.TransactionSigns, behavior.Unsigned, behavior.Refunds, behavior.Spending)
	q.ChallengeStatus = f.OptionalChoice("challenge_status", q.ChallengeStatus, behavior.Honoured, behavior.Ignored)
	q.RepeatedState = f.OptionalChoice("repeated_state", q.RepeatedState, behavior.OK, behavior.Conflict)
	q.TerminatedStatus = readTerminatedStatus(f, q.TerminatedStatus)
	q.FrozenMoney = f.OptionalChoice("frozen_money", q.FrozenMoney, behavior.Allowed, behavior.Refused)
	q.ErrorBody = f.OptionalChoice("error_body", q.ErrorBody, behavior.JSON, behavior.Extended, behavior.Nested, behavior.Text)
	q.RetryAfter = f.OptionalChoice("retry_after", q.RetryAfter, behavior.Seconds, behavior.Date, behavior.Absent)
	q.WalletFields = readWalletFields(f, q.WalletFields)
	q.Balance = f.OptionalChoice("balance", q.Balance, behavior.LessHolds, behavior.Settled)
	q.CardValues = f.OptionalChoice("card_values", q.CardValues, behavior.AsAsked, behavior.Tidied)
	q.CardsHiddenSeconds = f.Integer("cards_hidden_seconds", q.CardsHiddenSeconds, 0, 600)
	q.Amounts = f.OptionalChoice("amounts", q.Amounts, behavior.Decimals, behavior.Plain, behavior.Strings, behavior.Floats)
	q.WalletDecimals = f.Integer("wallet_decimals", q.WalletDecimals, 2, 6)
	q.Timestamps = f.OptionalChoice("timestamps", q.Timestamps, behavior.UTC, behavior.Bare)
	q.EmptyMetadata = f.OptionalChoice("empty_metadata", q.EmptyMetadata, behavior.Object, behavior.Array)
	q.ExpYearDigits = readExpYearDigits(f, q.ExpYearDigits)
	if err := f.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(q), q.Write(c.Tx)
}

func readTerminatedStatus(f *wire.Fields, fallback int64) int64 {
	status := f.Integer("terminated_status", fallback, http.StatusBadRequest, http.StatusUnprocessableEntity)
	known := []int64{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	if !slices.Contains(known, status) {
		f.Refuse(wire.Invalid("terminated_status must be one of %v", known))
	}
	return status
}

func readExpYearDigits(f *wire.Fields, fallback int64) int64 {
	digits := f.Integer("exp_year_digits", fallback, 2, 4)
	if digits == 3 {
		f.Refuse(wire.Invalid("exp_year_digits must be 2 or 4"))
	}
	return digits
}

var walletField = regexp.MustCompile(`^[a-z][a-z0-9_]{0,59}$`)

// readWalletFields reads two names that no other field of a BIN has.
func readWalletFields(f *wire.Fields, fallback [2]string) [2]string {
	names, found := f.Texts("wallet_fields")
	if !found {
		return fallback
	}
	isTaken := func(name string) bool {
		return !walletField.MatchString(name) || slices.Contains([]string{"id", "network", "category"}, name)
	}
	if len(names) != 2 || slices.ContainsFunc(names, isTaken) {
		f.Refuse(wire.Invalid("wallet_fields must be two different names in lower case that no other field of a BIN has"))
		return fallback
	}
	return [2]string(names)
}

// maxCalls is the highest limit.
const maxCalls = 1_000_000_000

func readLimits(c *server.Call) (wire.Response, error) {
	limits, err := behavior.ReadLimits(c.Tx)
	return wire.OK(limits), err
}

// readUsed shows how many calls of the account are in the window of each limit.
func readUsed(counters *behavior.Counters) func(*server.Call) (wire.Response, error) {
	return func(c *server.Call) (wire.Response, error) {
		used, err := counters.ReadUsed(c.Tx, c.Account.ID)
		return wire.OK(used), err
	}
}

// replaceLimits sets all limits; one that is left out is as documented. Calls
// that were counted stay counted.
func replaceLimits(c *server.Call) (wire.Response, error) {
	fields, documented := c.Fields(), behavior.DocumentedLimits()
	limits := behavior.Limits{
		RequestsPerMinute: fields.Integer("requests_per_minute", documented.RequestsPerMinute, 0, maxCalls),
		CreatesPerMinute:  fields.Integer("creates_per_minute", documented.CreatesPerMinute, 0, maxCalls),
		RequestsPerHour:   fields.Integer("requests_per_hour", documented.RequestsPerHour, 0, maxCalls),
		DetailsPerMinute:  fields.Integer("details_per_minute", documented.DetailsPerMinute, 0, maxCalls),
	}
	if err := fields.Done(); err != nil {
		return wire.Response{}, err
	}
	return wire.OK(limits), limits.Write(c.Tx)
}
