package control

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/quirk"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

func readQuirks(c *wire.Call) (wire.Reply, error) { return wire.OK(c.Quirks), nil }

// replaceQuirks sets all quirks; one that is left out is as by default.
func replaceQuirks(c *wire.Call) (wire.Reply, error) {
	f, q := c.Fields(), quirk.Default()
	q.Idempotency = f.Choice("idempotency", q.Idempotency, quirk.Honoured, quirk.Ignored, quirk.Conflict)
	q.CardsPerPage = f.Integer("cards_per_page", q.CardsPerPage, 1, q.CardsPerPage)
	q.CardsTotal = f.Choice("cards_total", q.CardsTotal, quirk.Present, quirk.Absent)
	q.WithdrawAmount = f.Choice("withdraw_amount", q.WithdrawAmount, quirk.Honoured, quirk.Ignored)
	q.TransactionsPerPage = f.Choice("transactions_per_page", q.TransactionsPerPage, quirk.Honoured, quirk.Ignored)
	q.RepeatedState = f.Choice("repeated_state", q.RepeatedState, quirk.OK, quirk.Conflict)
	q.TerminatedStatus = readTerminatedStatus(f, q.TerminatedStatus)
	q.FrozenMoney = f.Choice("frozen_money", q.FrozenMoney, quirk.Allowed, quirk.Refused)
	q.ErrorBody = f.Choice("error_body", q.ErrorBody, quirk.JSON, quirk.Extended, quirk.Text)
	q.RetryAfter = f.Choice("retry_after", q.RetryAfter, quirk.Seconds, quirk.Date, quirk.Absent)
	q.WalletFields = readWalletFields(f, q.WalletFields)
	q.Amounts = f.Choice("amounts", q.Amounts, quirk.Decimals, quirk.Plain, quirk.Strings)
	if err := f.Done(); err != nil {
		return wire.Reply{}, err
	}
	return wire.OK(q), q.Write(c.Tx)
}

func readTerminatedStatus(f *wire.Fields, missing int64) int64 {
	status := f.Integer("terminated_status", missing, http.StatusBadRequest, http.StatusUnprocessableEntity)
	known := []int64{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}
	if !slices.Contains(known, status) {
		f.Refuse(wire.Invalid("terminated_status must be one of %v", known))
	}
	return status
}

var walletField = regexp.MustCompile(`^[a-z0-9_]{1,60}_pay$`)

// readWalletFields reads two names of the only form that a reader can tell
// from the other fields of a BIN.
func readWalletFields(f *wire.Fields, missing [2]string) [2]string {
	names, found := f.Texts("wallet_fields")
	if !found {
		return missing
	}
	if len(names) != 2 || !walletField.MatchString(names[0]) || !walletField.MatchString(names[1]) {
		f.Refuse(wire.Invalid("wallet_fields must be two different names in lower case that end in _pay"))
		return missing
	}
	return [2]string(names)
}
