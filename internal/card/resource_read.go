package card

import (
	"context"
	"fmt"
	"maps"
	"reflect"
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
	// The framework requires an identity even if the card is removed from the state. Terraform before 1.12 passes none.
	resp.Diagnostics.Append(resp.Identity.SetAttribute(ctx, path.Root("id"), state.ID)...)
	if !r.session.IsConfigured() {
		resp.Diagnostics.AddWarning("Cards are not refreshed",
			"The provider configuration depends on values that are known only after apply, so the state of "+state.name()+" is kept. "+
				"To refresh it, first apply what the configuration depends on, for example with -target.")
		return
	}
	prior := state
	status := api.CardStatus(state.Status.ValueString())
	var asOf time.Time // zero if the import has just read the card
	var err error
	if private.JustImported {
		private.JustImported = false
	} else {
		status, asOf, err = r.refresh(ctx, &state, &resp.Diagnostics)
	}
	if err == nil && status == api.StatusTerminated { // one response is not enough to remove a card
		status, err = r.confirmTerminated(ctx, &state)
	}
	if err != nil {
		resp.Diagnostics.Append(r.session.ErrorOnce(func() diag.Diagnostic {
			if transport.IsNotFound(err) {
				return notFound(state, err, r.session)
			}
			return session.ErrorDiagnostic("read "+state.name(), err)
		})...)
		return
	}
	if status == api.StatusTerminated {
		resp.Diagnostics.AddWarning("Terminated card is removed from the state",
			"The service shows "+state.name()+" as terminated. If it is still in the configuration, the next apply issues a new card with another number and loads that card from the wallet. If you do not want that, remove its block first.")
		resp.State.RemoveResource(ctx)
		return
	}
	alreadyRead := !r.session.FirstTime(session.TopicRead, state.ID.ValueString())
	if alreadyRead && r.session.IsPlanning() {
		resp.Diagnostics.AddWarning("Two resources manage the same card",
			"This plan read "+state.name()+" twice, so the state contains it at two addresses. Both resources move its money, and destroying either one terminates the card."+
				"\n\nterraform state list -id="+state.ID.ValueString()+" shows both addresses. Run terraform state rm for one, then remove its block from the configuration. "+
				"If the block stays, the next apply issues a new card.")
	}
	resp.Diagnostics.Append(r.keepSettings(&state, prior, &private)...)
	r.awaitTransfer(ctx, &state, asOf)
	r.resolvePending(ctx, &state, &resp.Diagnostics)
	private.Month = reconcile.MonthOf(asOf)
	private.noteFrozen(prior, state)
	private.write(ctx, resp.Private, &resp.Diagnostics)
	if !reflect.DeepEqual(state, prior) { //nolint:govet // Set is slow; a false difference only costs an unneeded call of it
		resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	}
}

// confirmTerminated reads a card a second time after the service showed it as terminated.
func (r *cardResource) confirmTerminated(ctx context.Context, m *model) (api.CardStatus, error) {
	card, err := r.session.Client.GetCard(ctx, m.ID.ValueString())
	if err != nil {
		return "", err
	}
	m.setState(card.Status, card.Balance)
	return card.Status, nil
}

// keepSettings restores the configured settings of a card after a refresh, and sets private.Shown to the service's values
// that differ from them. It warns of these values unless private.Shown had the same ones before.
func (r *cardResource) keepSettings(state *model, prior model, private *privateState) diag.Diagnostics {
	shownBefore := private.Shown
	private.Shown = keepConfigured(state, &prior, private.DefaultLimit)
	if len(private.Shown) == 0 || maps.Equal(shownBefore, private.Shown) {
		return nil
	}
	different := tfkit.Enumerate(differences(private.Shown, state))
	return diag.Diagnostics{diag.NewWarningDiagnostic("Card settings differ from the configuration",
		fmt.Sprintf("%s has different settings: %s. The card is not replaced, and the state keeps the values from before.", capitalized(state.name()), different)+
			adoptAdvice(private.Shown))}
}

// refresh reads the card and updates the model. It returns the card's status and the time of the reading.
func (r *cardResource) refresh(ctx context.Context, m *model, diags *diag.Diagnostics) (api.CardStatus, time.Time, error) {
	id := m.ID.ValueString()
	if m.CreatedAt.IsNull() { // a list of cards does not contain it
		summary, err := r.session.Client.GetCard(ctx, id)
		if err != nil {
			return "", time.Time{}, err
		}
		m.fromSummary(summary, diags)
		return summary.Status, r.session.Client.ServiceTime(), nil
	}

	card, err := r.session.Cards.Read(ctx, id, api.CardStatus(m.Status.ValueString()))
	if err == nil {
		m.fromAPI(card.CardListItem)
		return card.Status, card.AsOf, nil
	}
	mayAppear := transport.IsNotFound(err) && r.mayBeHidden(m)
	if !mayAppear {
		return "", time.Time{}, err
	}
	summary, err := r.session.Mover.Await(ctx, id, m.record())
	if err != nil {
		return "", time.Time{}, err
	}
	m.fromSummary(summary, diags)
	return summary.Status, r.session.Client.ServiceTime(), nil
}

// mayBeHidden reports whether a card is so new that the service may not show it yet. In the embedded sandbox, a missing
// card usually means the wrong file, so waiting would not help.
func (r *cardResource) mayBeHidden(m *model) bool {
	if r.session.Sandbox != nil {
		return false
	}
	created, _ := m.CreatedAt.ValueRFC3339Time() // the zero time, so not new, if it cannot be parsed
	age := r.session.Client.ServiceTime().Sub(created)
	return age < api.NewCardGrace
}

// awaitTransfer reads a card again if the service seems to show its balance from before a recent transfer. A plan based
// on that balance might move the money again. If reading fails, the model keeps the first reading: apply reads the card
// again before it moves money.
func (r *cardResource) awaitTransfer(ctx context.Context, m *model, asOf time.Time) {
	record := m.record()
	snapshot := reconcile.Snapshot{Balance: m.Balance.Amount(), At: asOf}
	const noMovement = 0 // no further movement is in question
	explanation := reconcile.Explain(record.Anchor, snapshot, noMovement)
	if !explanation.Stale {
		return
	}
	card, err := r.session.Mover.Await(ctx, m.ID.ValueString(), record)
	if err == nil {
		m.setState(card.Status, card.Balance)
	}
}

// resolvePending checks whether a pending transfer was made, and records the outcome. It moves no money.
func (r *cardResource) resolvePending(ctx context.Context, m *model, diags *diag.Diagnostics) {
	record := m.record()
	if record.Pending == nil {
		return
	}
	pending := *record.Pending
	resolved, err := r.session.Mover.Resolve(ctx, m.ID.ValueString(), record)
	if err != nil {
		// No warning is needed if an apply can repeat the request with the same idempotency key.
		canRepeat := r.session.Client.KeysHonoured() && !pending.Answered
		if !canRepeat {
			diags.Append(stillPending(*m, pending, err))
		}
		return
	}
	if resolved.How == api.AlreadyDone {
		m.setTotalAfter(pending.Movement())
	}
	m.setRecord(resolved.Record)
	m.setState(resolved.CardStatus, resolved.CardBalance)
}

func (r *cardResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := tfkit.ImportID(ctx, req, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "import a card") {
		return
	}
	if !tfkit.IsCardID(id) {
		resp.Diagnostics.AddError("Invalid card id",
			fmt.Sprintf("The import id must be a card id of the form card_…, got %q. The data source vcard_cards and the dashboard list the ids.", id))
		return
	}
	summary, err := r.session.Client.GetCard(ctx, id)
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("import card "+id, err))
		return
	}
	if summary.Status == api.StatusTerminated {
		resp.Diagnostics.AddError("Could not import card "+id,
			capitalized(nameOf(summary.CardListItem))+" is terminated, which is final, so Terraform cannot manage it. To issue a new card, apply without importing.")
		return
	}
	state := importedModel(summary, &resp.Diagnostics)
	now := r.session.Client.ServiceTime()
	state.setRecord(reconcile.ImportedRecord(summary.Balance, now))
	save(ctx, state, &resp.State, resp.Identity, &resp.Diagnostics)
	privateState{JustImported: true}.write(ctx, resp.Private, &resp.Diagnostics)
}
