// Package card contains the Terraform types for cards: the resource, data sources, the ephemeral resource, the list
// resource and actions.
package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

type cardResource struct {
	session *session.Session
}

var (
	_ resource.ResourceWithConfigure      = (*cardResource)(nil)
	_ resource.ResourceWithIdentity       = (*cardResource)(nil)
	_ resource.ResourceWithImportState    = (*cardResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*cardResource)(nil)
	_ resource.ResourceWithValidateConfig = (*cardResource)(nil)
)

// NewResource makes the resource vcard_card.
func NewResource() resource.Resource { return &cardResource{} }

func (r *cardResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_card"
}

func (r *cardResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (r *cardResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	decode(ctx, req.Plan.Raw, &plan, &resp.Diagnostics)
	request := plan.toAPI(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "issue a card") {
		return
	}
	if request.Label == "" {
		request.Label = r.session.GeneratedLabel()
		request.GeneratedLabel = true
	}
	startedAt := r.session.Client.ServiceTime()
	issuance, err := r.session.Client.IssueCard(ctx, request)
	if err != nil {
		resp.Diagnostics.Append(notIssued(request, err))
		return
	}

	// The card exists and is paid for, so it is saved before a later step can fail.
	state := plan
	state.fromAPI(issuance.Card.CardListItem)
	state.CreatedAt = tfkit.CreatedAt(issuance.Card.CreatedAt, state.name(), &resp.Diagnostics)
	state.ExpiresAt = tfkit.StringOrNull(string(issuance.Card.ExpiresAt))
	requested := plan
	requested.Label = types.StringValue(request.Label)
	private := privateState{DefaultLimit: request.SpendingLimit == nil}
	private.Shown = keepConfigured(&state, &requested, private.DefaultLimit)
	state.setRecord(reconcile.IssuedRecord(request.Amount, startedAt))
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
	private.write(ctx, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(issueWarnings(state, request, issuance, private.Shown)...)

	if plan.Frozen.ValueBool() {
		// If freezing fails, Terraform taints the card, and the next apply replaces it. Therefore an interruption
		// does not cancel this call.
		frozen, err := r.session.Client.FreezeCard(context.WithoutCancel(ctx), state.ID.ValueString())
		if err != nil {
			resp.Diagnostics.Append(issuedButNotFrozen(state, err))
			return
		}
		state.setState(frozen.Status, frozen.Balance)
		resp.Diagnostics.Append(session.LostResponseWarning("freeze "+state.name(), frozen.How.LostResponse())...)
	}
	state.keepPlanned(plan)
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
}

func (r *cardResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	decode(ctx, req.State.Raw, &state, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	// Forget the plan of a replacement first, because it no longer applies if terminating fails.
	nextCost := private.NextCost
	private.NextCost = 0
	private.Replaced = nil
	private.write(ctx, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(r.terminate(ctx, state, nextCost)...)
}

// terminate terminates a card. nextCost is the cost in USD of the card that replaces it afterwards, or 0.
func (r *cardResource) terminate(ctx context.Context, card model, nextCost usd.Amount) diag.Diagnostics {
	var diags diag.Diagnostics
	if !r.session.Require(&diags, "terminate "+card.name()) {
		return diags
	}
	// The plan's check is not enough, because it may not run when a tainted card is replaced.
	if card.DeletionProtection.ValueBool() {
		diags.AddError("Deletion protection prevents terminating "+card.name(),
			"deletion_protection is true in the state of this card, but Terraform tried to terminate it, for example to replace it. Nothing was terminated."+
				"\n\nIf this card is tainted, check in the dashboard that its balance is right, then run terraform untaint on this resource. "+
				"To terminate the card after that, set deletion_protection = false and apply that alone. Then destroy or replace it."+
				"\n\nWith create_before_destroy, the new card already exists, and the old one is a deposed object, which the configuration cannot change. "+
				"Terminate it in the dashboard: the next plan removes it from the state.")
		return diags
	}
	if nextCost > 0 && r.session.WalletCheck != session.WalletCheckOff {
		missing, err := r.shortfall(ctx, card.ID.ValueString(), nextCost)
		if transport.IsNotFound(err) {
			return diag.Diagnostics{notFound(card, err, r.session)}
		}
		if err != nil {
			return diag.Diagnostics{errorWithAdvice("check the wallet before replacing "+card.name(), err,
				` This card was not terminated. To replace it without this check, set wallet_check = "off" in the provider configuration. If the wallet balance is then too low, you are left without a card.`)}
		}
		if missing > 0 {
			diags.AddError("Wallet cannot cover the replacement of "+card.name(),
				fmt.Sprintf("The new card costs %s USD, including its fee. The wallet and this card's balance together are %s USD short. "+
					"This card was not terminated and keeps its balance."+
					"\n\nDeposit at least the missing sum (the data source vcard_deposit_addresses lists the addresses), or lower amount. Then apply again. "+
					"To terminate the card without a replacement, run terraform destroy with -target on this resource.", nextCost, missing))
			return diags
		}
	}
	terminated, err := r.session.Client.TerminateCard(ctx, card.ID.ValueString())
	if transport.IsNotFound(err) {
		return diag.Diagnostics{notFound(card, err, r.session)}
	}
	if err != nil {
		return diag.Diagnostics{rejection(api.CardStatus(card.Status.ValueString()), "terminate "+card.name(), err)}
	}
	tflog.Info(ctx, "card terminated", map[string]any{
		"card_id":            terminated.ID,
		"returned_to_wallet": terminated.ReturnedToWallet.String(),
		"already_terminated": terminated.How == api.AlreadyDone,
	})
	return session.LostResponseWarning("terminate "+card.name(), terminated.How.LostResponse())
}

// shortfall returns how much the wallet and the balance of the replaced card lack to pay for the new card, in USD. If
// the money is enough, the result is zero or negative. If the replaced card is already terminated, the check would come
// too late, and the result is 0.
func (r *cardResource) shortfall(ctx context.Context, replacedID string, nextCost usd.Amount) (usd.Amount, error) {
	replaced, err := r.session.Client.GetCard(ctx, replacedID)
	if err != nil {
		return 0, err
	}
	if replaced.Status == api.StatusTerminated {
		return 0, nil
	}
	wallet, err := r.session.Client.WalletBalance(ctx)
	if err != nil {
		return 0, err
	}
	available, err := wallet.Balance.Floor()
	if err != nil {
		return 0, err
	}
	return nextCost - available - replaced.Balance, nil
}

// save writes the state and the identity of a card.
func save(ctx context.Context, m model, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, m)...)
	diags.Append(identity.SetAttribute(ctx, path.Root("id"), m.ID)...)
}
