package transaction

import (
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

type summary struct {
	Counts     map[string]int64 `tfsdk:"counts"`
	Authorized types.Number     `tfsdk:"authorized"`
	Settled    types.Number     `tfsdk:"settled"`
	Refunded   types.Number     `tfsdk:"refunded"`
	Declined   types.Number     `tfsdk:"declined"`
	Fees       types.Number     `tfsdk:"fees"`
	NetSpend   types.Number     `tfsdk:"net_spend"`
}

// total is what the transactions of one currency add up to.
type total struct {
	counts  map[string]int64
	amounts map[api.TransactionType]usd.Amount
	fees    usd.Amount
}

// totals are by currency.
type totals map[string]*total

func (all totals) add(t api.Transaction) error {
	sum := all[t.Currency]
	if sum == nil {
		sum = &total{counts: map[string]int64{}, amounts: map[api.TransactionType]usd.Amount{}}
		for _, known := range transactionTypes() {
			sum.counts[known] = 0
		}
		all[t.Currency] = sum
	}
	amount, amountErr := usd.Sum(sum.amounts[t.Type], t.Amount)
	fees, feesErr := usd.Sum(sum.fees, t.Fee)
	if err := errors.Join(amountErr, feesErr); err != nil {
		return fmt.Errorf("the transactions in %s add up to more than can be counted: %w", t.Currency, err)
	}
	sum.counts[string(t.Type)]++
	sum.amounts[t.Type], sum.fees = amount, fees
	return nil
}

func (all totals) summaries() map[string]summary {
	summaries := make(map[string]summary, len(all))
	for currency, sum := range all {
		of := func(t api.TransactionType) types.Number { return usdtype.Of(sum.amounts[t]).NumberValue }
		net := sum.amounts[api.TransactionSettlement] - sum.amounts[api.TransactionRefund] + sum.fees
		summaries[currency] = summary{
			Counts:     sum.counts,
			Authorized: of(api.TransactionAuthorization),
			Settled:    of(api.TransactionSettlement),
			Refunded:   of(api.TransactionRefund),
			Declined:   of(api.TransactionDecline),
			Fees:       usdtype.Of(sum.fees).NumberValue,
			NetSpend:   usdtype.Of(net).NumberValue,
		}
	}
	return summaries
}
