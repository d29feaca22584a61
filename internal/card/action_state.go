package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// stateAction freezes or unfreezes a card.
type stateAction struct {
	cardAction
	operation, doing string // with %s for the card
	change           func(*api.Client, context.Context, string) (api.CardState, error)
}

var (
	_ action.ActionWithConfigure  = (*stateAction)(nil)
	_ action.ActionWithModifyPlan = (*stateAction)(nil)
)

// NewFreezeAction makes the action vcard_card_freeze.
func NewFreezeAction() action.Action {
	return &stateAction{
		cardAction: cardAction{
			typeName: "card_freeze",
			description: "Freezes a card at once: all its transactions are suspended, and its balance is kept. Moves no money; freezing a frozen card changes nothing. " +
				"An action stands outside the plan: where the card's `vcard_card` resource sets `frozen = false`, the next plan unfreezes it again. Needs Terraform 1.14.",
		},
		operation: "freeze %s", doing: "Freezing %s",
		change: (*api.Client).FreezeCard,
	}
}

// NewUnfreezeAction makes the action vcard_card_unfreeze.
func NewUnfreezeAction() action.Action {
	return &stateAction{
		cardAction: cardAction{
			typeName: "card_unfreeze",
			description: "Unfreezes a card at once: its transactions are enabled again. Moves no money; unfreezing an active card changes nothing. " +
				"An action stands outside the plan: where the card's `vcard_card` resource sets `frozen = true`, the next plan freezes it again. " +
				"A card whose balance is under its `auto_freeze_at` is frozen by the service with the next purchase. Needs Terraform 1.14.",
		},
		operation: "unfreeze %s", doing: "Unfreezing %s",
		change: func(client *api.Client, ctx context.Context, id string) (api.CardState, error) {
			return client.UnfreezeCard(ctx, id, nil)
		},
	}
}

func (a *stateAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: a.description,
		Attributes:          map[string]schema.Attribute{"card_id": cardIDAttribute()},
	}
}

func (a *stateAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	defer session.CatchPanic(&resp.Diagnostics)
	var config struct {
		CardID types.String `tfsdk:"card_id"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || !a.session.Require(&resp.Diagnostics, fmt.Sprintf(a.operation, "a card")) {
		return
	}
	card, ok := a.readCard(ctx, config.CardID.ValueString(), a.operation, &resp.Diagnostics)
	if !ok {
		return
	}
	name := nameOf(card.CardListItem)
	progress(resp, a.doing+", which is %s and holds %s USD.", name, card.Status, card.Balance)
	state, err := a.change(a.session.Client, ctx, card.ID)
	if err != nil {
		resp.Diagnostics.Append(rejection(card.Status, fmt.Sprintf(a.operation, name), err))
		return
	}
	progress(resp, "%s is %s now and holds %s USD.", capitalized(name), state.Status, state.Balance)
}
