package card

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

func (r *cardResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	decode(ctx, req.State.Raw, &state, &resp.Diagnostics)
	private := readPrivateState(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	// Terraform 1.11 wants the identity even when the card leaves the state.
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
	if !r.session.Known() {
		resp.Diagnostics.AddWarning("Cards are not refreshed",
			"The provider's configuration depends on values that are known only after apply, so the state of "+state.name()+" is kept as it is.")
		return
	}
	before := state
	status, asOf, err := api.CardStatus(state.Status.ValueString()), time.Time{}, error(nil)
	if private.JustImported {
		private.JustImported = false
	} else {
		status, asOf, err = r.refresh(ctx, &state, &resp.Diagnostics)
	}
	if err == nil && status == api.StatusTerminated { // one answer ends no card
		var again api.CardSummary
		if again, err = r.session.Client.GetCard(ctx, state.ID.ValueString()); err == nil {
			status = again.Status
			state.setState(status, again.Balance)
		}
	}
	switch {
	case transport.IsNotFound(err):
		resp.Diagnostics.Append(r.session.ErrorOnce(func() diag.Diagnostic { return notKnown(state, err, r.session) })...)
		return
	case err != nil:
		resp.Diagnostics.Append(r.session.ErrorOnce(func() diag.Diagnostic { return session.ErrorDiagnostic("read "+state.name(), err) })...)
		return
	case status == api.StatusTerminated:
		resp.Diagnostics.AddWarning("A card was terminated outside Terraform",
			capitalized(state.name())+" is removed from the state. If it is still in the configuration, the next apply issues a new card, with another number, and loads it from the wallet.")
		resp.State.RemoveResource(ctx)
		return
	}
	if !r.session.FirstTime(session.TopicRead, state.ID.ValueString()) && r.session.IsPlanning() {
		resp.Diagnostics.AddWarning("Two resources manage the same card",
			"This plan has read "+state.name()+" twice, so it is in the state at two addresses. Both move its money, and removing either terminates it."+
				"\n\nterraform state list -id="+state.ID.ValueString()+" shows the addresses. Remove one with terraform state rm.")
	}
	resp.Diagnostics.Append(r.showsOtherwise(&state, before, &private)...)
	r.awaitMovement(ctx, &state, asOf)
	r.settle(ctx, &state, &resp.Diagnostics)
	private.Month = reconcile.MonthOf(asOf)
	private.noteFrozen(before, state)
	private.write(ctx, resp.Private, &resp.Diagnostics)
	if !reflect.DeepEqual(state, before) { //nolint:govet // as in ModifyPlan
		resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	}
}

// showsOtherwise keeps what was asked for, and says once when the service shows something else.
func (r *cardResource) showsOtherwise(state *model, before model, private *privateState) diag.Diagnostics {
	told := private.Shown
	private.Shown = whatIsFixed().keepAsked(state, &before, private.DefaultLimit)
	if len(private.Shown) == 0 || maps.Equal(told, private.Shown) {
		return nil
	}
	has := strings.Join(whatIsFixed().differences(private.Shown, state), " and ")
	return diag.Diagnostics{diag.NewWarningDiagnostic("The service shows a card otherwise than it was asked for",
		fmt.Sprintf("%s has %s. The card stays, and the state keeps what was asked.", capitalized(state.name()), has)+
			followAdvice(private.Shown))}
}

// refresh updates the model, and returns the moment for which it holds. Only the card's own
// summary tells when it was created. A new card may not be shown yet.
func (r *cardResource) refresh(ctx context.Context, m *model, diags *diag.Diagnostics) (api.CardStatus, time.Time, error) {
	client, id := r.session.Client, m.ID.ValueString()
	read := func(ctx context.Context, id string) (api.CardSummary, error) {
		return r.session.Mover.Await(ctx, id, m.record().Anchor)
	}
	if m.CreatedAt.IsNull() {
		read = client.GetCard
	} else {
		card, err := r.session.Cards.Read(ctx, id, api.CardStatus(m.Status.ValueString()))
		if err == nil {
			m.fromAPI(card.CardListItem)
			return card.Status, card.AsOf, nil
		}
		created, _ := m.CreatedAt.ValueRFC3339Time()
		now := client.ServiceTime()
		isNew := r.session.Sandbox == nil && now.Sub(created) < api.HiddenFor // a file of this machine shows all at once
		if !isNew || !transport.IsNotFound(err) {
			return "", time.Time{}, err
		}
	}
	summary, err := read(ctx, id)
	if err != nil {
		return "", time.Time{}, err
	}
	m.fromAPI(summary.CardListItem)
	m.CreatedAt = tfkit.CreatedAt(summary.CreatedAt, m.name(), diags)
	now := client.ServiceTime()
	return summary.Status, now, nil
}

// awaitMovement reads a card again that the service shows as it was before its
// last movement, made a moment ago: a plan of that would move the money once more.
func (r *cardResource) awaitMovement(ctx context.Context, m *model, asOf time.Time) {
	anchor := m.record().Anchor
	if !reconcile.Explain(anchor, reconcile.Snapshot{Balance: m.Balance.Amount(), At: asOf}, 0).Stale {
		return
	}
	if card, err := r.session.Mover.Await(ctx, m.ID.ValueString(), anchor); err == nil { // else what was read stands
		m.setState(card.Status, card.Balance)
	}
}

// settle finds out what became of a pending movement. It moves nothing.
func (r *cardResource) settle(ctx context.Context, m *model, diags *diag.Diagnostics) {
	record := m.record()
	if record.Pending == nil {
		return
	}
	pending := *record.Pending
	transfer, err := r.session.Mover.Resolve(ctx, m.ID.ValueString(), record)
	if err != nil {
		if pending.Answered || !r.session.Client.KeysHonoured() { // else the next apply asks for it again under its key
			diags.Append(notSettled(*m, pending, err.Error()))
		}
		return
	}
	if transfer.How == api.AlreadySo {
		m.add(pending.Movement())
	}
	m.setRecord(transfer.Record)
	m.setState(transfer.CardStatus, transfer.CardBalance)
}

func (r *cardResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := tfkit.ImportID(ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "import a card") {
		return
	}
	if !tfkit.IsCardID(id) {
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
		resp.Diagnostics.AddError("Could not import card "+id,
			nameOf(summary.CardListItem)+" is terminated, which is final. A terminated card cannot be managed; write a resource without an import to issue a new one.")
		return
	}
	state := importedModel(summary)
	state.CreatedAt = tfkit.CreatedAt(summary.CreatedAt, state.name(), &resp.Diagnostics)
	now := r.session.Client.ServiceTime()
	state.setRecord(reconcile.ImportedRecord(summary.Balance, now))
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
	privateState{JustImported: true}.write(ctx, resp.Private, &resp.Diagnostics)
}
