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

type issuanceCost struct{}

func newIssuanceCost() function.Function { return issuanceCost{} }

func (issuanceCost) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "issuance_cost"
}

func (issuanceCost) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "What issuing cards takes from the wallet",
		MarkdownDescription: fmt.Sprintf("Returns what issuing one card for each of the given loads takes from the wallet, in USD and exact to "+
			"the cent: the sum of the loads, plus the issuance fee of %s USD for each card. For no loads it is 0.", api.IssuanceFee),
		Parameters: []function.Parameter{
			function.ListParameter{
				Name: "amounts", ElementType: types.NumberType,
				MarkdownDescription: fmt.Sprintf("The initial loads in USD, each at least %s with at most two decimals, as `amount` of `vcard_card` takes them.", api.MinimumLoad),
			},
		},
		Return: function.NumberReturn{},
	}
}

func (issuanceCost) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var loads []types.Number
	if resp.Error = req.Arguments.Get(ctx, &loads); resp.Error != nil {
		return
	}
	var total usd.Amount
	for i, load := range loads {
		if load.IsUnknown() {
			resp.Error = resp.Result.Set(ctx, types.NumberUnknown())
			return
		}
		amount := usdtype.FromNumber(load)
		err := checkLoad(amount)
		if err == nil {
			total, err = usd.Sum(total, amount.Amount(), api.IssuanceFee)
			if err != nil {
				err = errors.New("adds up to more than can be counted")
			}
		}
		if err != nil {
			resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("amounts[%d] %s", i, err))
			return
		}
	}
	resp.Error = resp.Result.Set(ctx, usdtype.Of(total).NumberValue)
}

// checkLoad refuses what no card can be issued with. The error completes "amounts[0] …".
func checkLoad(load usdtype.Value) error {
	switch amount := load.Amount(); {
	case load.IsNull():
		return errors.New("must not be null")
	case load.Err() != nil:
		return load.Err()
	case amount < 0:
		return fmt.Errorf("must not be negative, got %s", load.ValueBigFloat().Text('g', 17))
	case amount < api.MinimumLoad:
		return fmt.Errorf("must be at least %s USD, the least that a card is issued with, got %s", api.MinimumLoad, amount)
	}
	return nil
}
