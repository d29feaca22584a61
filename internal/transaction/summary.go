package transaction

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
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

type total struct {
	counts  map[string]int64
	amounts map[api.TransactionType]usd.Decimal
	fees    usd.Decimal
}

// totals are by currency.
type totals map[string]*total

// add returns by how many entries the totals have grown.
func (all totals) add(t api.Transaction) (grown int) {
	sum := all[t.Currency]
	if sum == nil {
		grown++
		sum = &total{counts: map[string]int64{}, amounts: map[api.TransactionType]usd.Decimal{}}
		for _, known := range transactionTypes() {
			sum.counts[known] = 0
		}
		all[t.Currency] = sum
	}
	if !t.Type.IsKnown() && sum.counts[string(t.Type)] == 0 {
		grown++
	}
	sum.counts[string(t.Type)]++
	sum.amounts[t.Type] = sum.amounts[t.Type].Add(t.Amount)
	sum.fees = sum.fees.Add(t.Fee)
	return grown
}

func (all totals) summaries() map[string]summary {
	summaries := make(map[string]summary, len(all))
	for currency, sum := range all {
		of := func(t api.TransactionType) types.Number { return types.NumberValue(sum.amounts[t].BigFloat()) }
		net := sum.amounts[api.TransactionSettlement].Sub(sum.amounts[api.TransactionRefund]).Add(sum.fees)
		summaries[currency] = summary{
			Counts:     sum.counts,
			Authorized: of(api.TransactionAuthorization),
			Settled:    of(api.TransactionSettlement),
			Refunded:   of(api.TransactionRefund),
			Declined:   of(api.TransactionDecline),
			Fees:       types.NumberValue(sum.fees.BigFloat()),
			NetSpend:   types.NumberValue(net.BigFloat()),
		}
	}
	return summaries
}
