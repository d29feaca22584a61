package card

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// move makes the planned movement in one call: what amount changed by and what top_up adds.
func (u *update) move(ctx context.Context) diag.Diagnostics {
	if u.unfreezeFailed {
		return nil
	}
	before, after := loadsOf(u.before), loadsOf(u.plan)
	delta := after.delta(before)
	switch {
	case delta == 0:
		return u.moveNothing(ctx)
	case u.private.HistoryLost:
		return u.moveNothingYet(ctx, tryOf(u.before, delta))
	}
	movement := api.Movement{CardID: u.id(), Delta: delta, Key: u.private.movementKey(u.id(), before, after), Anchor: u.private.Anchor}
	rule, _ := u.plan.readTopUp(ctx)
	switch {
	case rule == nil || u.configured(true):
	case delta < 0:
		movement.AtLeast = rule.Below.Pointer()
	case after.toppedUp-before.toppedUp == delta:
		movement.UpTo = rule.To.Pointer()
	}
	try := tryOf(u.before, delta)
	transfer, err := u.client.Move(ctx, movement)
	if err != nil {
		return u.notMoved(try, err)
	}
	now, _ := u.client.ServiceTime()
	known := !u.private.Anchor.IsUnchecked(now)
	u.withdrew = delta < 0
	u.private.Anchor, u.private.Pending = transfer.Anchor, nil
	u.private.renewToken()
	u.now.Balance, u.now.Amount, u.now.ToppedUp = usdtype.Of(transfer.CardBalance), u.plan.Amount, u.plan.ToppedUp
	return u.moved(try, delta, transfer, known)
}

// moveNothing takes over what was planned without money. It is also the way to
// end a pending transfer that cannot be decided.
func (u *update) moveNothing(ctx context.Context) diag.Diagnostics {
	u.now.Amount, u.now.ToppedUp = u.plan.Amount, u.plan.ToppedUp
	if u.private.Pending == nil {
		return nil
	}
	card, err := u.client.GetCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic("read "+u.before.name(), err)}
	}
	now, _ := u.client.ServiceTime()
	u.now.Balance = usdtype.Of(card.Balance)
	u.private.Anchor, u.private.Pending = api.NewAnchor(card.Balance, now), nil
	u.private.renewToken()
	return nil
}

// moveNothingYet refuses a movement of which nothing tells whether it was made
// before, once.
func (u *update) moveNothingYet(ctx context.Context, try string) diag.Diagnostics {
	card, err := u.client.GetCard(ctx, u.id())
	if err != nil {
		return diag.Diagnostics{session.ErrorDiagnostic(try, err)}
	}
	now, _ := u.client.ServiceTime()
	u.now.Balance = usdtype.Of(card.Balance)
	u.private.Anchor, u.private.HistoryLost = api.NewAnchor(card.Balance, now), false
	u.private.renewToken()
	return diag.Diagnostics{stoppedForLostHistory(u.now, try)}
}

// moved says what is to be said of a movement that was made.
func (u *update) moved(try string, delta usd.Amount, transfer api.Transfer, known bool) diag.Diagnostics {
	diags := session.DelayWarning(try, transfer.Delay)
	switch {
	case transfer.MadeBefore:
		diags.Append(madeBefore(u.before, try, delta, transfer))
	case transfer.Unexplained != 0:
		diags.Append(unexplainedMoney(u.before, transfer))
	case !known:
		diags.Append(movedUnchecked(u.before, try))
	}
	if transfer.Excess != 0 {
		diags.Append(excess(u.before.name(), try, transfer))
	}
	return diags
}

func (u *update) notMoved(try string, err error) diag.Diagnostics {
	undecided, isUndecided := errors.AsType[*api.UndecidedError](err)
	stopped, isStopped := errors.AsType[*api.UnexplainedMoneyError](err)
	tooLittle, isTooLittle := errors.AsType[*api.LeavesTooLittleError](err)
	refused, isRefused := errors.AsType[*api.Error](err)
	switch {
	case isUndecided && !u.client.KeysHonoured(): // else the next apply asks again under the same key
		u.private.Pending = &pendingTransfer{Transfer: *undecided.Transfer, Amount: u.plan.Amount.Pointer(), ToppedUp: u.plan.ToppedUp.Amount()}
	case isUndecided:
		u.private.Unanswered = true
	case isStopped:
		u.private.Anchor, u.now.Balance = stopped.Anchor, usdtype.Of(stopped.Balance)
		return diag.Diagnostics{stoppedForUnexplained(u.before, try, stopped)}
	case isTooLittle:
		return diag.Diagnostics{diag.NewErrorDiagnostic("Could not "+try,
			withdrawsIntoTopUp(u.before, tooLittle.Balance+tooLittle.Movement.Delta, *tooLittle.Movement.AtLeast))}
	case isRefused && refused.IsRepetition() && u.client.KeysHonoured(): // a run that was cut off may have made it
		return diag.Diagnostics{keyCameBefore(u.before, try, refused)}
	case isRefused && refused.IsFinal() && !u.private.Unanswered:
		// A service may store its refusal under the key.
		u.private.renewToken()
	}
	return diag.Diagnostics{session.ErrorDiagnostic(try, err)}
}

// loads is what Terraform has loaded onto a card, in USD.
type loads struct {
	amount   *usd.Amount // nil when Terraform does not manage it
	toppedUp usd.Amount
}

func loadsOf(m model) loads { return loads{m.Amount.Pointer(), m.ToppedUp.Amount()} }

// delta is what is to be moved to come here from before.
func (l loads) delta(before loads) usd.Amount {
	delta := l.toppedUp - before.toppedUp
	if l.amount != nil && before.amount != nil {
		delta += *l.amount - *before.amount
	}
	return delta
}

// movementKey is the idempotency key of a movement: the same in every run that
// tries it, until it is made.
func (s privateState) movementKey(id string, before, after loads) string {
	text := func(a *usd.Amount) string {
		if a == nil {
			return "none"
		}
		return a.String()
	}
	const form = 4 // of the UUIDs that every other key is
	return uuid.NewHash(sha256.New(), uuid.Nil, fmt.Appendf(nil, "%s move %s amount %s to %s topped_up %s to %s token %s",
		id, after.delta(before), text(before.amount), text(after.amount), before.toppedUp, after.toppedUp, s.Token), form).String()
}

// tryOf completes "Could not …".
func tryOf(card model, delta usd.Amount) string {
	if delta < 0 {
		return "withdraw " + (-delta).String() + " USD from " + card.name()
	}
	return "fund " + card.name() + " with " + delta.String() + " USD"
}
