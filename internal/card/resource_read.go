package card

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

func (r *cardResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	decode(ctx, req.State.Raw, &state, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	// The identity comes first: Terraform 1.11 refuses a response without it even
	// when the card leaves the state.
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
	if !r.session.Known() {
		resp.Diagnostics.Append(notRefreshed(state))
		return
	}
	r.session.Meet(state.ID.ValueString(), private.account())
	before := state
	status, asOf, err := api.CardStatus(state.Status.ValueString()), time.Time{}, error(nil)
	if private.JustImported {
		private.JustImported = false
	} else {
		status, asOf, err = r.refresh(ctx, &state, private, &resp.Diagnostics)
	}
	unproven, isUnproven := errors.AsType[*session.NotGoneError](err)
	switch {
	case isUnproven:
		resp.Diagnostics.Append(notProvenGone(state, unproven))
		return
	case api.IsNotFound(err):
		problems := r.proveGone(ctx, state, private)
		resp.Diagnostics.Append(problems...)
		if !problems.HasError() {
			resp.Diagnostics.Append(removedFromState(state, "is no longer known to the service"))
			resp.State.RemoveResource(ctx)
		}
		return
	case err != nil:
		resp.Diagnostics.Append(session.ErrorDiagnostic("read "+state.name(), err))
		return
	case status == api.StatusTerminated:
		resp.Diagnostics.Append(removedFromState(state, "was terminated outside Terraform"))
		resp.State.RemoveResource(ctx)
		return
	}
	if private.Unread {
		resp.Diagnostics.Append(private.keepFirstReading(&state, before)...)
	}
	r.reconcile(ctx, &state, &private, &resp.Diagnostics)
	if len(private.Addresses) == 0 {
		if account, err := r.session.Account(ctx); err == nil {
			private.keepAccount(account)
		}
	}
	if private.Anchor == nil && private.Pending == nil {
		private.Anchor = api.NewAnchor(state.Balance.Amount(), asOf)
	}
	private.write(ctx, resp.Private, &resp.Diagnostics)
	if !reflect.DeepEqual(state, before) { //nolint:govet // as in ModifyPlan
		resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	}
}

// refresh updates the model with what the service says, and returns the moment
// for which that holds. Only the card's own summary tells when it was created, so
// an imported card needs that. A new card may not be shown yet.
func (r *cardResource) refresh(ctx context.Context, m *model, private privateState, diags *diag.Diagnostics) (api.CardStatus, time.Time, error) {
	client, id := r.session.Client, m.ID.ValueString()
	read := client.GetCard
	if !m.CreatedAt.IsNull() {
		card, err := client.RefreshCard(ctx, id, api.CardStatus(m.Status.ValueString()), func(ctx context.Context, unlisted bool) error {
			return r.session.CheckOwner(ctx, id, private.account(), unlisted)
		})
		if err == nil {
			m.fromAPI(private.IssuedOtherwise.asAsked(card.CardListItem))
			return card.Status, card.AsOf, nil
		}
		if created, _ := m.CreatedAt.ValueRFC3339Time(); !api.IsNotFound(err) || !r.session.IsNew(created) {
			return "", time.Time{}, err
		}
		read = client.AwaitCard
	}
	summary, err := read(ctx, id)
	if err != nil {
		return "", time.Time{}, err
	}
	m.fromAPI(private.IssuedOtherwise.asAsked(summary.CardListItem))
	m.CreatedAt = session.CreatedAt(summary.CreatedAt, m.name(), diags)
	now, _ := client.ServiceTime()
	return summary.Status, now, nil
}

// reconcile closes a movement of money whose outcome an earlier apply could not learn.
func (r *cardResource) reconcile(ctx context.Context, m *model, private *privateState, diags *diag.Diagnostics) {
	if private.Pending == nil {
		return
	}
	outcome, err := r.session.Client.ReconcileTransfer(ctx, private.Pending.Transfer)
	switch {
	case err != nil:
		diags.Append(notReconciled(*m, private.Pending, err.Error()))
		return
	case outcome.State == api.TransferUndecided:
		diags.Append(notReconciled(*m, private.Pending, outcome.Reason))
		return
	case outcome.State == api.TransferDone:
		m.Amount = usdtype.OfPointer(private.Pending.Amount)
		m.ToppedUp = usdtype.Of(private.Pending.ToppedUp)
		private.renewToken()
	}
	private.Pending, private.Anchor = nil, outcome.Anchor
	m.Balance = m.Balance.Becoming(outcome.CardBalance)
}

func (r *cardResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := session.ImportID(ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "import a card") {
		return
	}
	if !session.IsCardID(id) {
		resp.Diagnostics.AddError("Not a card id",
			fmt.Sprintf("A card is imported by its id, which has the form card_…, got %q. The data source vcard_cards and the dashboard list the ids.", id))
		return
	}
	summary, err := r.session.Client.GetCard(ctx, id)
	switch {
	case err != nil:
		resp.Diagnostics.Append(session.ErrorDiagnostic("import card "+id, err))
		return
	case summary.Status == api.StatusTerminated:
		resp.Diagnostics.AddError("Could not import card "+summary.ID,
			describe(summary.ID, summary.Label, summary.Last4)+" is terminated, which is final. A terminated card cannot be managed; write a resource without an import to issue a new one.")
		return
	}
	state := importedModel(summary)
	state.CreatedAt = session.CreatedAt(summary.CreatedAt, state.name(), &resp.Diagnostics)
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
	now, _ := r.session.Client.ServiceTime()
	privateState{
		Imported: true, JustImported: true, Token: uuid.NewString(), Anchor: api.NewAnchor(summary.Balance, now),
	}.write(ctx, resp.Private, &resp.Diagnostics)
}

// importedModel is a card that Terraform did not issue: what it was loaded
// with, and what the service does not report, is null.
func importedModel(c api.CardSummary) model {
	m := model{
		AllowedCategories:  types.SetNull(types.StringType),
		Metadata:           types.MapNull(types.StringType),
		TopUp:              types.ObjectNull(topUpTypes()),
		DeletionProtection: types.BoolValue(false),
		ToppedUp:           usdtype.Of(0),
	}
	m.fromAPI(c.CardListItem)
	return m
}
