package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// issuanceCost is the function issuance_cost.
type issuanceCost struct{}

func newIssuanceCost() function.Function { return issuanceCost{} }

func (issuanceCost) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "issuance_cost"
}

func (issuanceCost) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Calculates the cost of issuing cards",
		MarkdownDescription: fmt.Sprintf("Returns what it costs to issue one card for each load, in USD: the sum of the loads "+
			"plus an issuance fee of %s USD per card. "+
			"The result is exact to the cent. An empty list returns 0.", api.IssuanceFee),
		Parameters: []function.Parameter{
			function.ListParameter{
				Name: "amounts", ElementType: types.NumberType,
				MarkdownDescription: fmt.Sprintf("Initial loads of the cards in USD, each at least %s and with at most two "+
					"decimals, like `amount` of `vcard_card`.", api.MinimumLoad),
			},
		},
		Return: function.NumberReturn{},
	}
}

func (issuanceCost) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var loads []types.Number
	resp.Error = req.Arguments.Get(ctx, &loads)
	if resp.Error != nil {
		return
	}
	var total usd.Amount
	for i, load := range loads {
		if load.IsUnknown() {
			resp.Error = resp.Result.Set(ctx, types.NumberUnknown())
			return
		}
		var err error
		total, err = addLoad(total, usdtype.FromNumber(load))
		if err != nil {
			const amountsPosition = 0 // counted from 0, among the arguments
			resp.Error = function.NewArgumentFuncError(amountsPosition, fmt.Sprintf("amounts[%d] %s", i, err))
			return
		}
	}
	resp.Error = resp.Result.Set(ctx, usdtype.FromAmount(total).NumberValue)
}

// addLoad adds a load and the issuance fee to a total. Its error completes "amounts[0] …".
func addLoad(total usd.Amount, load usdtype.Value) (usd.Amount, error) {
	if load.IsNull() {
		return 0, errors.New("must not be null")
	}
	if load.Err() != nil {
		return 0, load.Err()
	}
	amount := load.Amount()
	if amount < 0 {
		return 0, fmt.Errorf("must not be negative, got %s", amount)
	}
	if amount < api.MinimumLoad {
		return 0, fmt.Errorf("must be at least %s USD, the minimum load of a card, got %s", api.MinimumLoad, amount)
	}
	total, err := usd.Sum(total, amount, api.IssuanceFee)
	if err != nil {
		return 0, errors.New("makes the sum too large")
	}
	return total, nil
}
