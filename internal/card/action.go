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

// cardAction is the common part of the actions on a card.
type cardAction struct {
	session     *session.Session
	typeName    string // without the provider's prefix
	description string
}

func (a *cardAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.typeName
}

func (a *cardAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (a *cardAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: a.description + " Requires Terraform 1.14.",
		Attributes: map[string]schema.Attribute{
			"card_id": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.CardID()},
				MarkdownDescription: "Id of the card, of the form `card_…`.",
			},
		},
	}
}

// ModifyPlan validates the card id again, because validation may run before the id is known.
func (a *cardAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	at := path.Root("card_id")
	var id types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, at, &id)...)
	check := validator.StringRequest{Path: at, ConfigValue: id}
	result := validator.StringResponse{}
	tfkit.CardID().ValidateString(ctx, check, &result)
	resp.Diagnostics.Append(result.Diagnostics...)
}

// readCard reads the card of an action. If the card is terminated or cannot be read, it adds an error and reports
// false. operation names the action on a card, as in "freeze card card_1".
func (a *cardAction) readCard(ctx context.Context, cardID string, operation func(name string) string, diags *diag.Diagnostics) (api.CardSummary, bool) {
	card, err := a.session.Client.GetCard(ctx, cardID)
	if err != nil {
		diags.Append(session.ErrorDiagnostic(operation("card "+cardID), err))
		return api.CardSummary{}, false
	}
	if card.Status == api.StatusTerminated {
		name := nameOf(card.CardListItem)
		diags.AddError("Could not "+operation(name), capitalized(name)+" "+terminatedForGood+" Use the id of a live card.")
		return api.CardSummary{}, false
	}
	return card, true
}

// progress shows a message while the action runs.
func progress(resp *action.InvokeResponse, format string, args ...any) {
	resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf(format, args...)})
}

// stateAction freezes or unfreezes a card.
type stateAction struct {
	cardAction
	verb   string // "freeze" or "unfreeze"
	gerund string // "Freezing" or "Unfreezing"
	change func(ctx context.Context, client *api.Client, cardID string) (api.CardState, error)
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
			description: "Freezes a card at once: it declines payments and keeps its balance. No money moves; " +
				"freezing a frozen card changes nothing. " +
				"The plan does not show what an action does. If the card's `vcard_card` resource has `frozen = false`, the " +
				"next plan unfreezes the card.",
		},
		verb:   "freeze",
		gerund: "Freezing",
		change: func(ctx context.Context, client *api.Client, cardID string) (api.CardState, error) {
			return client.FreezeCard(ctx, cardID)
		},
	}
}

// NewUnfreezeAction makes the action vcard_card_unfreeze.
func NewUnfreezeAction() action.Action {
	return &stateAction{
		cardAction: cardAction{
			typeName: "card_unfreeze",
			description: "Unfreezes a card at once, so that it accepts payments again. No money moves; " +
				"unfreezing an active card changes nothing. " +
				"The plan does not show what an action does. If the card's `vcard_card` resource has `frozen = true`, the " +
				"next plan freezes the card. " +
				"If the balance is below `auto_freeze_at`, the service may freeze the card again at the next purchase.",
		},
		verb:   "unfreeze",
		gerund: "Unfreezing",
		change: func(ctx context.Context, client *api.Client, cardID string) (api.CardState, error) {
			var autoFreezeAt *usd.Amount // not known to an action
			return client.UnfreezeCard(ctx, cardID, autoFreezeAt)
		},
	}
}

// operation names the action on a card, as in "freeze card card_1".
func (a *stateAction) operation(name string) string { return a.verb + " " + name }

func (a *stateAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	defer session.CatchPanic(&resp.Diagnostics) // the framework calls Invoke in a goroutine of its own
	var id types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("card_id"), &id)...)
	if resp.Diagnostics.HasError() || !a.session.Require(&resp.Diagnostics, a.operation("a card")) {
		return
	}
	card, ok := a.readCard(ctx, id.ValueString(), a.operation, &resp.Diagnostics)
	if !ok {
		return
	}
	name := nameOf(card.CardListItem)
	progress(resp, "%s %s, which is %s and holds %s USD.", a.gerund, name, card.Status, card.Balance)
	state, err := a.change(ctx, a.session.Client, card.ID)
	if err != nil {
		resp.Diagnostics.Append(rejection(card.Status, a.operation(name), err))
		return
	}
	progress(resp, "%s is now %s and holds %s USD.", capitalized(name), state.Status, state.Balance)
	resp.Diagnostics.Append(session.LostResponseWarning(a.operation(name), state.How.LostResponse())...)
}

// transferAction funds a card, or withdraws from it.
type transferAction struct {
	cardAction
	withdraws bool // false: the action funds the card
}

var (
	_ action.ActionWithConfigure  = (*transferAction)(nil)
	_ action.ActionWithModifyPlan = (*transferAction)(nil)
)

// transferNotes is part of the description of each action that moves money.
const transferNotes = " Plans do not include the money that actions move: the plan's check of the wallet does not count it, " +
	"and `amount` of the card's `vcard_card` resource does not change. The action moves the money each time it runs.\n\n" +
	"Do not trigger the action by an update of the same card's `amount`. If that update is interrupted, the next apply cannot distinguish " +
	"the two transfers, and stops.\n\nTerraform runs `after_update` actions even if the update failed. " +
	"The action then refuses to move money until an update of the card succeeds. " +
	"It only knows about updates in the same run with the same provider configuration. " +
	"It does not know about updates in an earlier run, as with `-invoke`, or through another provider alias."

// NewFundAction makes the action vcard_card_fund.
func NewFundAction() action.Action {
	return &transferAction{cardAction: cardAction{
		typeName:    "card_fund",
		description: "Moves money from the wallet to a card at once." + transferNotes,
	}}
}

// NewWithdrawAction makes the action vcard_card_withdraw.
func NewWithdrawAction() action.Action {
	return &transferAction{withdraws: true, cardAction: cardAction{
		typeName: "card_withdraw",
		description: "Moves an amount, or the whole balance, from a card back to the wallet at once. " +
			"If the balance drops below the card's `auto_freeze_at`, the service freezes the card, and the action warns." + transferNotes,
	}}
}

func (a *transferAction) Schema(ctx context.Context, req action.SchemaRequest, resp *action.SchemaResponse) {
	a.cardAction.Schema(ctx, req, resp)
	amount := "Amount to move in USD, at least 0.01, with at most two decimals."
	if a.withdraws {
		amount += " Default: the whole balance at that moment. An empty card does not change."
	}
	resp.Schema.Attributes["amount"] = schema.NumberAttribute{
		Required:            !a.withdraws,
		Optional:            a.withdraws,
		CustomType:          usdtype.Type{},
		Validators:          []validator.Number{tfkit.AtLeast(usd.Cent)},
		MarkdownDescription: amount,
	}
}

type transferConfig struct {
	CardID types.String  `tfsdk:"card_id"`
	Amount usdtype.Value `tfsdk:"amount"`
}

func (a *transferAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	a.cardAction.ModifyPlan(ctx, req, resp)
	a.readConfig(ctx, req.Config, &resp.Diagnostics) // for its errors
}

// readConfig reads the configuration of the action and checks the amount.
func (a *transferAction) readConfig(ctx context.Context, raw tfsdk.Config, diags *diag.Diagnostics) transferConfig {
	var config transferConfig
	diags.Append(raw.Get(ctx, &config)...)
	if !diags.HasError() {
		diags.Append(a.checkAmount(ctx, config.Amount)...)
	}
	return config
}

// delta returns how moving an amount changes the card's balance, in USD.
func (a *transferAction) delta(amount usd.Amount) usd.Amount {
	if a.withdraws {
		return -amount
	}
	return amount
}

func (a *transferAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	defer session.CatchPanic(&resp.Diagnostics) // the framework calls Invoke in a goroutine of its own
	config := a.readConfig(ctx, req.Config, &resp.Diagnostics)
	// operationOn names the action on a card, as in "fund card card_1 with 5.00 USD".
	operationOn := func(name string) string {
		if config.Amount.IsNull() {
			return "withdraw everything from " + name
		}
		return operationOf(name, a.delta(config.Amount.Amount()))
	}
	if resp.Diagnostics.HasError() || !a.session.Require(&resp.Diagnostics, operationOn("a card")) {
		return
	}
	id := config.CardID.ValueString()
	if a.session.LastUpdateFailed(id) {
		resp.Diagnostics.Append(refusedAfterUpdate(operationOn("card " + id)))
		return
	}
	card, ok := a.readCard(ctx, id, operationOn, &resp.Diagnostics)
	if !ok {
		return
	}

	name := nameOf(card.CardListItem)
	amount := config.Amount.Amount()
	if config.Amount.IsNull() { // withdraw everything
		amount = card.Balance
		if amount <= 0 {
			progress(resp, "%s holds %s USD, so there is nothing to withdraw.", capitalized(name), amount)
			return
		}
	}
	if a.withdraws {
		progress(resp, "Withdrawing %s USD from %s; it holds %s USD.", amount, name, card.Balance)
	} else {
		progress(resp, "Funding %s with %s USD; it holds %s USD.", name, amount, card.Balance)
	}

	delta := a.delta(amount)
	operation := operationOf(name, delta)
	var noRecord *reconcile.Record // an action has no state that could keep one
	result, err := a.session.Mover.Move(ctx, card.ID, reconcile.Movement{Delta: delta}, noRecord)
	if err != nil {
		resp.Diagnostics.Append(actionFailed(card, operation, err))
		return
	}
	progress(resp, "%s", describeTransfer(name, result))
	resp.Diagnostics.Append(session.LostResponseWarning(operation, result.How.LostResponse())...)
	if result.Excess != 0 {
		resp.Diagnostics.Append(excessWarning(name, delta, result))
	}
	if a.withdraws && card.Status == api.StatusActive {
		resp.Diagnostics.Append(a.frozenByWithdrawal(ctx, card)...)
	}
}

// refusedAfterUpdate returns the error for an action that would move money after an update that has not succeeded.
func refusedAfterUpdate(operation string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Action refused after a failed update", "Could not "+operation+
		", because the card's update in this run has not succeeded. Terraform runs actions even after a failed "+
		"update. Nothing was sent. "+
		"If the action had moved money, the next apply could not tell whether the update or the action moved it."+
		"\n\nApply again. If the plan updates the card, the action runs after that update. "+
		"If not, run the action on its own: terraform apply -invoke=ADDRESS. "+
		"Do not do both, because the action moves the money each time it runs.")
}

// describeTransfer returns the progress message after a transfer. name is the card's name.
func describeTransfer(name string, result transfer.Transfer) string {
	if result.How == api.Found {
		return fmt.Sprintf("The response was lost or unusable, but %s shows that the money moved: it now holds %s USD.", name, result.CardBalance)
	}
	if result.WalletBalance == nil { // it is not known
		return fmt.Sprintf("%s now holds %s USD.", capitalized(name), result.CardBalance)
	}
	return fmt.Sprintf("%s now holds %s USD, and the wallet %s USD.",
		capitalized(name), result.CardBalance, result.WalletBalance.WithoutNoise())
}

// checkAmount validates the amount again, because validation may run before the amount is known. It also refuses to
// fund a card with more than max_card_load of the provider configuration.
func (a *transferAction) checkAmount(ctx context.Context, amount usdtype.Value) diag.Diagnostics {
	at := path.Root("amount")
	if amount.IsNull() && !a.withdraws {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "amount is null", "The action needs an amount to move. "+
			"Set amount in USD, at least 0.01.")}
	}
	typeCheck := xattr.ValidateAttributeRequest{Path: at}
	typeResult := xattr.ValidateAttributeResponse{}
	amount.ValidateAttribute(ctx, typeCheck, &typeResult)
	minimumCheck := validator.NumberRequest{Path: at, ConfigValue: amount.NumberValue}
	minimumResult := validator.NumberResponse{}
	tfkit.AtLeast(usd.Cent).ValidateNumber(ctx, minimumCheck, &minimumResult)
	diags := typeResult.Diagnostics
	diags.Append(minimumResult.Diagnostics...)
	if !a.withdraws {
		// If the provider is not configured, a.session is nil, and LoadDiagnostic returns nil.
		diags.Append(a.session.LoadDiagnostic(at, amount.Amount())...)
	}
	return diags
}

// actionFailed returns the error for money that did not move, or may have moved.
func actionFailed(card api.CardSummary, operation string, err error) diag.Diagnostic {
	undecided, ok := errors.AsType[*transport.UndecidedError](err)
	if ok {
		return unknownOutcome(operation, fmt.Sprintf("The card held %s USD before. %s",
			card.Balance, session.Cause(undecided)))
	}
	stop, ok := errors.AsType[*transfer.StoppedError](err)
	if ok {
		response := "The service confirmed the transfer"
		if stop.Refusal != nil {
			response = "The service has already seen the idempotency key of this request"
		}
		return unknownOutcome(operation, fmt.Sprintf("%s. But %s holds %s USD, which does not show the transfer.",
			response, nameOf(card.CardListItem), stop.Balance))
	}
	return rejection(card.Status, operation, err)
}

func unknownOutcome(operation, facts string) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unknown outcome: "+operation, facts+
		"\n\nCheck the card before you run the action again: if the money has moved, it would move a second time. "+
		"The dashboard and the data sources vcard_card and vcard_transactions show the balance and the transactions.")
}

// frozenByWithdrawal warns if an active card is frozen after a withdrawal. before is the card before the withdrawal. If
// the card cannot be read, that is no error, because the money has already moved.
func (a *transferAction) frozenByWithdrawal(ctx context.Context, before api.CardSummary) diag.Diagnostics {
	after, err := a.session.Client.GetCard(ctx, before.ID)
	if err != nil || after.Status != api.StatusFrozen {
		return nil
	}
	return diag.Diagnostics{frozenAfterWithdrawal(fmt.Sprintf("%s was active before the withdrawal. It now holds %s USD and is frozen.",
		capitalized(nameOf(before.CardListItem)), after.Balance))}
}
