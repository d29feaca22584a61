package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// cardAction is what the actions on a card have in common.
type cardAction struct {
	session          *session.Session
	typeName         string // without the provider's
	description      string
	operation, doing string // with %s for the card
}

func (a *cardAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.typeName
}

func (a *cardAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (a *cardAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: a.description + " Needs Terraform 1.14.",
		Attributes: map[string]schema.Attribute{
			"card_id": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.CardID()},
				MarkdownDescription: "Id of the card, of the form `card_…`.",
			},
		},
	}
}

// ModifyPlan checks what validation has seen as unknown.
func (a *cardAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var id types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("card_id"), &id)...)
	checked := validator.StringResponse{}
	tfkit.CardID().ValidateString(ctx, validator.StringRequest{Path: path.Root("card_id"), ConfigValue: id}, &checked)
	resp.Diagnostics.Append(checked.Diagnostics...)
}

// readCard reads the card of an action; false, with an error, where nothing can be done on
// it. Operation is what is to be done, with %s for the card.
func (a *cardAction) readCard(ctx context.Context, id, operation string, diags *diag.Diagnostics) (api.CardSummary, bool) {
	card, err := a.session.Client.GetCard(ctx, id)
	switch {
	case err != nil:
		diags.Append(session.ErrorDiagnostic(fmt.Sprintf(operation, "card "+id), err))
	case card.Status == api.StatusTerminated:
		name := nameOf(card.CardListItem)
		diags.AddError("Could not "+fmt.Sprintf(operation, name), capitalized(name)+" "+terminatedForGood)
	default:
		return card, true
	}
	return card, false
}

// progress tells the user how far an action is.
func progress(resp *action.InvokeResponse, text string, args ...any) {
	resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf(text, args...)})
}

// stateAction freezes or unfreezes a card.
type stateAction struct {
	cardAction
	change func(*api.Client, context.Context, string) (api.CardState, error)
}

var (
	_ action.ActionWithConfigure  = (*stateAction)(nil)
	_ action.ActionWithModifyPlan = (*stateAction)(nil)
)

// NewFreezeAction makes the action vcard_card_freeze.
func NewFreezeAction() action.Action {
	return &stateAction{
		cardAction: cardAction{
			typeName: "card_freeze", operation: "freeze %s", doing: "Freezing %s",
			description: "Freezes a card at once: all its transactions are suspended, and its balance is kept. Moves no money; freezing a frozen card changes nothing. " +
				"An action stands outside the plan: where the card's `vcard_card` resource sets `frozen = false`, the next plan unfreezes it again.",
		},
		change: (*api.Client).FreezeCard,
	}
}

// NewUnfreezeAction makes the action vcard_card_unfreeze.
func NewUnfreezeAction() action.Action {
	return &stateAction{
		cardAction: cardAction{
			typeName: "card_unfreeze", operation: "unfreeze %s", doing: "Unfreezing %s",
			description: "Unfreezes a card at once: its transactions are enabled again. Moves no money; unfreezing an active card changes nothing. " +
				"An action stands outside the plan: where the card's `vcard_card` resource sets `frozen = true`, the next plan freezes it again. " +
				"A card whose balance is under its `auto_freeze_at` is frozen by the service with the next purchase.",
		},
		change: func(client *api.Client, ctx context.Context, id string) (api.CardState, error) {
			return client.UnfreezeCard(ctx, id, nil)
		},
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
