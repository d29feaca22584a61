package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// move makes what the plan shows: the change of amount, then the top-up, which is
// not sent when the first was not made. Both have keys of the record that the
// apply began with, so that a run that was cut off is asked again under them.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.unfreezeFailed {
		return nil
	}
	u.now.Amount = u.plan.Amount // where it moves nothing
	movements := movementsOf(ctx, u.before, u.plan)
	record := u.before.record()
	if len(movements) == 0 && record.Pending != nil {
		return u.giveUp(ctx, record)
	}
	var diags diag.Diagnostics
	for _, m := range movements {
		if m.Purpose == reconcile.ForAmount {
			u.now.Amount = u.before.Amount
		}
	}
	token := record.Token
	for _, m := range movements {
		renewed := record.Token
		record.Token = token
		if m.Purpose == reconcile.ForTopUp && m.Range != nil {
			m.Range.Limit, m.Range.Had = u.plan.MaxTopUpPerMonth.Pointer(), record.TopUps
		}
		operation := operationOf(u.before, m.Delta)
		transfer, err := u.client.Move(ctx, api.Movement{Movement: m, CardID: u.id(), Record: &record})
		record = transfer.Record
		refusal, _ := errors.AsType[*api.Error](err)
		isSent := refusal != nil && refusal.AfterLostResponse          // and may arrive late
		if record.Token == token && record.Pending == nil && !isSent { // the one before may have been made
			record.Token = renewed
		}
		u.now.setRecord(record)
		if err != nil {
			return append(diags, u.notMoved(operation, transfer.CardStatus, err)...)
		}
		u.withdrew = u.withdrew || m.Delta < 0
		u.now.setState(transfer.CardStatus, transfer.CardBalance)
		u.now.add(m)
		diags.Append(u.moved(operation, m, transfer)...)
	}
	return diags
}

// movementsOf are what a plan moves on a card, in their order.
func movementsOf(ctx context.Context, before, after model) []reconcile.Movement {
	var all []reconcile.Movement
	if old, now := before.Amount, after.Amount; old.IsKnown() && now.IsKnown() && !old.SameCents(now) {
		m := reconcile.Movement{
			Purpose: reconcile.ForAmount, Delta: now.Amount() - old.Amount(), Before: old.Amount(), Range: after.toppedUpIn(ctx),
		}
		was := before.toppedUpIn(ctx) // by which a run that was cut off may have topped up
		switch {
		case m.Delta > 0 && was != nil && (m.Range == nil || m.Range.Below < was.Below):
			m.Range = was
		case m.Delta < 0 && after.Frozen.ValueBool():
			m.Range = nil
		}
		all = append(all, m)
	}
	if old, now := before.ToppedUp.Amount(), after.ToppedUp; now.IsKnown() && now.Amount() != old {
		all = append(all, reconcile.Movement{Purpose: reconcile.ForTopUp, Delta: now.Amount() - old, Before: old, Range: after.toppedUpIn(ctx)})
	}
	return all
}

// toppedUpIn is the range of top_up, nil without one.
func (m model) toppedUpIn(ctx context.Context) *reconcile.Range {
	rule, _ := m.readTopUp(ctx)
	if rule == nil {
		return nil
	}
	return &reconcile.Range{Below: rule.Below.Amount(), To: rule.To.Amount()}
}

// giveUp ends a pending movement that cannot be decided. It moves nothing.
func (u *update) giveUp(ctx context.Context, record reconcile.Record) diag.Diagnostics {
	snapshot, status, err := u.client.ReadSnapshot(ctx, u.id(), record.Anchor)
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("read "+u.before.name(), err)}
	}
	u.now.setState(status, snapshot.Balance)
	u.now.setRecord(record.GivenUp(snapshot))
	return nil
}

// moved says what is to be said of a movement that was made.
func (u *update) moved(operation string, m reconcile.Movement, transfer api.Transfer) diag.Diagnostics {
	diags := session.LostResponseWarning(operation, transfer.LostResponse)
	switch {
	case transfer.MadeBefore:
		diags.Append(madeBefore(u.before, operation, m, transfer))
	case transfer.LeftOver != 0:
		diags.Append(unexplainedMoney(u.before, transfer))
	case transfer.Ignored != "":
		diags.Append(ignoredMoney(u.before, transfer))
	}
	if transfer.Excess != 0 {
		diags.Append(excess(u.before.name(), operation, transfer))
	}
	return diags
}

func (u *update) notMoved(operation string, status api.CardStatus, err error) diag.Diagnostics {
	if halted, ok := errors.AsType[*api.StoppedError](err); ok {
		u.now.Balance = usdtype.Of(halted.Balance)
		return diag.Diagnostics{stopped(u.before, operation, halted, u.now.record().TopUps)}
	}
	return diag.Diagnostics{rejection(status, operation, err)}
}

// operationOf completes "Could not …".
func operationOf(card model, delta usd.Amount) string {
	if delta < 0 {
		return "withdraw " + (-delta).String() + " USD from " + card.name()
	}
	return "fund " + card.name() + " with " + delta.String() + " USD"
}
