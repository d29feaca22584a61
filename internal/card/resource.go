// Package card is all that HCL can say about cards.
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
		request.Label, request.GeneratedLabel = r.session.GeneratedLabel(), true
	}
	began := r.session.Client.ServiceTime()
	issuance, err := r.session.Client.IssueCard(ctx, request)
	if err != nil {
		resp.Diagnostics.Append(notIssued(request, err))
		return
	}

	// The card exists and has been paid: its id is saved before anything else can fail.
	state := plan
	state.fromAPI(issuance.Card.CardListItem)
	state.CreatedAt = tfkit.CreatedAt(issuance.Card.CreatedAt, state.name(), &resp.Diagnostics)
	state.ExpiresAt = tfkit.StringOrNull(string(issuance.Card.ExpiresAt))
	asked := plan
	asked.Label = types.StringValue(request.Label)
	private := privateState{DefaultLimit: request.SpendingLimit == nil}
	private.Shown = whatIsFixed().keepAsked(&state, &asked, private.DefaultLimit)
	state.setRecord(reconcile.IssuedRecord(request.Amount, began))
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
	private.write(ctx, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(issued(state, request, issuance, private.Shown)...)

	if plan.Frozen.ValueBool() {
		// An active card would be tainted, and issued anew: an interruption waits.
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
	// Where the card stays, it is not being replaced any more.
	next := private.NextCost
	private.NextCost, private.Replaced = 0, nil
	private.write(ctx, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(r.terminate(ctx, state, next)...)
}

// terminate ends a card; next is what the one takes that replaces it afterwards, in USD, or 0.
func (r *cardResource) terminate(ctx context.Context, card model, next usd.Amount) (diags diag.Diagnostics) {
	if !r.session.Require(&diags, "terminate "+card.name()) {
		return diags
	}
	// A tainted card is replaced without a plan of its own, so the plan's check is not enough.
	if card.DeletionProtection.ValueBool() {
		diags.AddError("Deletion protection keeps "+card.name(),
			"This card was to be terminated without a plan of its own, as the old one of a replacement is, but deletion_protection is true in its state. Nothing was terminated. "+
				"Where it is still the resource's card, compare what it holds with amount, then keep it with terraform untaint, or set deletion_protection = false and apply that alone first. "+
				"Where the new card was issued before it (create_before_destroy), the old one is a deposed object, which neither reaches: "+
				"terminate it in the dashboard; the next plan sees that and removes it from the state.")
		return diags
	}
	if next > 0 && r.session.WalletCheck != session.WalletCheckOff {
		switch short, err := r.fallsShort(ctx, card.ID.ValueString(), next); {
		case transport.IsNotFound(err):
			return diag.Diagnostics{notKnown(card, err, r.session)}
		case err != nil:
			return diag.Diagnostics{failed("see whether the wallet can pay for the card that replaces "+card.name(), err,
				` This card was not terminated. To replace it without looking, set wallet_check = "off" in the provider configuration.`)}
		case short > 0:
			diags.AddError("The wallet cannot pay for the card that replaces "+card.name(),
				fmt.Sprintf("The new card takes %s USD with its fee. The wallet and what this card returns fall short of that by %s USD. "+
					"So this card was not terminated, and keeps what it has. Deposit at least that (the data source vcard_deposit_addresses lists where) "+
					"or lower amount, then apply again. To terminate it without another, run terraform destroy with -target on this resource.", next, short))
			return diags
		}
	}
	ended, err := r.session.Client.TerminateCard(ctx, card.ID.ValueString())
	switch {
	case transport.IsNotFound(err):
		return diag.Diagnostics{notKnown(card, err, r.session)}
	case err != nil:
		return diag.Diagnostics{rejection(api.CardStatus(card.Status.ValueString()), "terminate "+card.name(), err)}
	}
	tflog.Info(ctx, "card terminated", map[string]any{
		"card_id": ended.ID, "returned_to_wallet": ended.ReturnedToWallet.String(), "already_terminated": ended.How == api.AlreadySo,
	})
	return session.LostResponseWarning("terminate "+card.name(), ended.How.LostResponse())
}

// fallsShort returns by how much the wallet and a card that is replaced fall short of what
// the new one takes, in USD. A card that is terminated already leaves no choice.
func (r *cardResource) fallsShort(ctx context.Context, id string, next usd.Amount) (usd.Amount, error) {
	replaced, err := r.session.Client.GetCard(ctx, id)
	if err != nil || replaced.Status == api.StatusTerminated {
		return 0, err
	}
	now, err := r.session.Client.WalletBalance(ctx)
	if err != nil {
		return 0, err
	}
	wallet, err := now.Balance.Floor()
	return next - wallet - replaced.Balance, err
}

func save(ctx context.Context, m model, state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, m)...)
	diags.Append(identity.SetAttribute(ctx, path.Root("id"), m.ID)...)
}
