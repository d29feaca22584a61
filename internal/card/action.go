package card

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
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

func progress(resp *action.InvokeResponse, text string, args ...any) {
	resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf(text, args...)})
}

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
	var id types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("card_id"), &id)...)
	if resp.Diagnostics.HasError() || !a.session.Require(&resp.Diagnostics, fmt.Sprintf(a.operation, "a card")) {
		return
	}
	card, ok := a.readCard(ctx, id.ValueString(), a.operation, &resp.Diagnostics)
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

type transferAction struct {
	cardAction
	withdraws bool // takes everything when no amount is set, and the service may freeze the card for it
}

var (
	_ action.ActionWithConfigure  = (*transferAction)(nil)
	_ action.ActionWithModifyPlan = (*transferAction)(nil)
)

const outsideThePlan = " An action stands outside the plan: the plan's check of the wallet does not count what it moves, and `amount` of the card's `vcard_card` resource stays as it is. " +
	"Each time that it runs it moves the money again.\n\n" +
	"Do not trigger it by an update of the same card's `amount`: if that update is interrupted, the next apply cannot tell its money from the action's, and stops. " +
	"Terraform runs `after_update` actions even if the update failed. The action then refuses, and moves nothing, until an update of the card succeeds. " +
	"It knows of updates in the same run and of the same provider configuration only: `-invoke` is a run of its own, and an alias of the provider is a process of its own."

// NewFundAction makes the action vcard_card_fund.
func NewFundAction() action.Action {
	return &transferAction{cardAction: cardAction{
		typeName: "card_fund", operation: "fund %%s with %s USD", doing: "Funding %%s with %s USD",
		description: "Moves money from the wallet to a card at once, where it can be spent immediately." + outsideThePlan,
	}}
}

// NewWithdrawAction makes the action vcard_card_withdraw.
func NewWithdrawAction() action.Action {
	return &transferAction{withdraws: true, cardAction: cardAction{
		typeName: "card_withdraw", operation: "withdraw %s USD from %%s", doing: "Withdrawing %s USD from %%s",
		description: "Moves money from a card back to the wallet at once: the amount, or everything that is on the card. " +
			"When that leaves the card under its `auto_freeze_at`, the service freezes it, and the action warns." + outsideThePlan,
	}}
}

func (a *transferAction) Schema(ctx context.Context, req action.SchemaRequest, resp *action.SchemaResponse) {
	a.cardAction.Schema(ctx, req, resp)
	amount := "USD to move, at least 0.01, with at most two decimals."
	if a.withdraws {
		amount += " Not set: everything that is on the card at that moment; a card that holds nothing is left as it is."
	}
	resp.Schema.Attributes["amount"] = schema.NumberAttribute{
		Required: !a.withdraws, Optional: a.withdraws, CustomType: usdtype.Type{}, Validators: []validator.Number{tfkit.AtLeast(usd.Cent)},
		MarkdownDescription: amount,
	}
}

type transferConfig struct {
	CardID types.String  `tfsdk:"card_id"`
	Amount usdtype.Value `tfsdk:"amount"`
}

func (a *transferAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	a.cardAction.ModifyPlan(ctx, req, resp)
	a.read(ctx, req.Config, &resp.Diagnostics)
}

// read returns the configuration, with an error where its amount is none.
func (a *transferAction) read(ctx context.Context, from tfsdk.Config, diags *diag.Diagnostics) (config transferConfig) {
	diags.Append(from.Get(ctx, &config)...)
	if !diags.HasError() {
		diags.Append(a.checkAmount(ctx, config.Amount)...)
	}
	return config
}

func (a *transferAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	defer session.CatchPanic(&resp.Diagnostics)
	config := a.read(ctx, req.Config, &resp.Diagnostics)
	amount := config.Amount.Amount()
	operation := fmt.Sprintf(a.operation, amount)
	if config.Amount.IsNull() {
		operation = "withdraw everything from %s"
	}
	if resp.Diagnostics.HasError() || !a.session.Require(&resp.Diagnostics, fmt.Sprintf(operation, "a card")) {
		return
	}
	if a.session.LastUpdateFailed(config.CardID.ValueString()) {
		resp.Diagnostics.AddError("Action refused after a failed update", "Could not "+fmt.Sprintf(operation, "card "+config.CardID.ValueString())+
			": the card's update in this run has not succeeded, and Terraform runs the actions of a failed update all the same. Nothing was sent. "+
			"If the action had moved money, the next apply could not tell it from the update's."+
			"\n\nApply again: once the update succeeds, the action runs after it. To move this money by itself, invoke the action with -invoke.")
		return
	}
	card, ok := a.readCard(ctx, config.CardID.ValueString(), operation, &resp.Diagnostics)
	if !ok {
		return
	}
	name := nameOf(card.CardListItem)
	if config.Amount.IsNull() {
		if amount = card.Balance; amount <= 0 {
			progress(resp, "%s holds %s USD: there is nothing to withdraw.", capitalized(name), amount)
			return
		}
	}
	progress(resp, fmt.Sprintf(a.doing, amount)+"; it holds %s USD.", name, card.Balance)
	movement := transfer.Movement{CardID: card.ID, Movement: reconcile.Movement{Delta: amount}}
	if a.withdraws {
		movement.Delta = -amount
	}
	operation = fmt.Sprintf(fmt.Sprintf(a.operation, amount), name)
	moved, err := a.session.Mover.Move(ctx, movement)
	switch {
	case err != nil:
		resp.Diagnostics.Append(notMoved(card, operation, err))
		return
	case moved.How == api.Found:
		progress(resp, "The response was lost, but %s shows that the money has moved: it holds %s USD now.", name, moved.CardBalance)
	case moved.WalletBalance == nil:
		progress(resp, "%s holds %s USD now.", capitalized(name), moved.CardBalance)
	default:
		progress(resp, "%s holds %s USD now, and the wallet %s USD.", capitalized(name), moved.CardBalance, moved.WalletBalance.WithoutNoise())
	}
	resp.Diagnostics.Append(session.LostResponseWarning(operation, moved.How.LostResponse())...)
	if moved.Excess != 0 {
		resp.Diagnostics.Append(excess(name, operation, moved))
	}
	if a.withdraws && card.Status == api.StatusActive {
		resp.Diagnostics.Append(a.frozenByWithdrawal(ctx, card)...)
	}
}

// checkAmount is for values that were unknown to validation, which comes but once.
func (a *transferAction) checkAmount(ctx context.Context, amount usdtype.Value) diag.Diagnostics {
	at := path.Root("amount")
	if amount.IsNull() && !a.withdraws {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "No amount", "amount turned out to be null. It must say how many USD to move.")}
	}
	typed := xattr.ValidateAttributeResponse{}
	amount.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{Path: at}, &typed)
	least := validator.NumberResponse{}
	tfkit.AtLeast(usd.Cent).ValidateNumber(ctx, validator.NumberRequest{Path: at, ConfigValue: amount.NumberValue}, &least)
	if !a.withdraws {
		least.Diagnostics.Append(a.session.LoadDiagnostic(at, amount.Amount())...)
	}
	return append(typed.Diagnostics, least.Diagnostics...)
}

// notMoved says why money did not move, moved too far, or may have moved.
func notMoved(card api.CardSummary, operation string, err error) diag.Diagnostic {
	var known string
	if open, ok := errors.AsType[*transport.UndecidedError](err); ok {
		known = fmt.Sprintf("The card held %s USD before. %s.", card.Balance, capitalized(open.Err.Error()))
	} else if halted, ok := errors.AsType[*transfer.StoppedError](err); ok {
		known = fmt.Sprintf("The service answered, but %s holds %s USD, which does not show that the money has moved.", nameOf(card.CardListItem), halted.Balance)
	} else {
		return rejection(card.Status, operation, err)
	}
	return diag.NewErrorDiagnostic("It is not known whether this took effect: "+operation, known+
		"\n\nLook before you repeat: running the action again moves the money a second time if it has moved already. "+
		"Compare the card's balance and its transactions with what you expect (data sources vcard_card and vcard_transactions, or the dashboard).")
}

func (a *transferAction) frozenByWithdrawal(ctx context.Context, before api.CardSummary) diag.Diagnostics {
	after, err := a.session.Client.GetCard(ctx, before.ID)
	if err != nil || after.Status != api.StatusFrozen {
		return nil // the money has moved, so a read that fails is no error
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(capitalized(nameOf(before.CardListItem))+" is frozen now",
		fmt.Sprintf("It was active before the withdrawal and holds %s USD now: the service freezes a card whose balance drops below its auto_freeze_at. "+
			"Fund it and unfreeze it to use it again.", after.Balance))}
}
