package reconcile_test

import (
	"errors"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// apply is one run: refresh, plan, apply. It reports whether all is as configured.
func (l *life) apply(faulty bool) bool {
	begin := l.state
	l.faulty, l.killed, l.behind, l.replica = faulty, false, 0, 0
	if faulty && l.isWild() && l.chance(10) {
		l.replica = []time.Duration{5 * time.Second, 35 * time.Second, 5 * time.Minute}[l.rng.IntN(3)]
	}
	client, err := api.New(api.Config{
		BaseURL: "https://model/api/v1", APIKey: "sk_live_model", Transport: l, Clock: l, KeysHonoured: l.honoured, MaxRetries: transport.DefaultMaxRetries,
	})
	if err != nil {
		panic(err)
	}
	mover := transfer.New(client)
	if !l.wired {
		mover.Cards = l
	}
	record, done := l.run(mover, reconcile.ParseRecord(cardID, l.record))
	l.unsure = !done
	if l.killed {
		l.tell("killed")
		l.state = begin
		return false
	}
	l.record = record.Text(cardID)
	if l.isWild() {
		l.saved = append(l.saved, begin)
	}
	return done
}

func (l *life) run(mover *transfer.Mover, record reconcile.Record) (reconcile.Record, bool) {
	balance := l.refresh(record)
	if pending := record.Pending; pending != nil {
		resolved, err := mover.Resolve(l.t.Context(), cardID, record)
		l.tell("resolved: %+v, %v", resolved, err)
		l.spoke = l.spoke || err != nil
		if record = resolved.Record; resolved.How == api.AlreadySo {
			l.book(pending.Movement())
		}
	}
	change := l.plan(balance, record)
	movements := change.Movements()
	l.tell("apply: %s of %s, topped up %s, card %s, %d movements", l.amount, l.target, l.toppedUp, l.card.balance, len(movements))
	if pending := record.Pending; pending != nil {
		if l.undecided++; l.undecided > 2 { // people give up
			l.target = l.amount
		}
		switch {
		case l.target != l.amount && record.Repeats(movements[0]): // the readings decide, or the key
		case l.target == l.amount: // as it was set back, and top_up is left out
			l.undecided = 0
			l.spoke, l.loose = true, true
			s, _, err := mover.Cards.ReadSnapshot(l.t.Context(), cardID, record.Anchor)
			return record.GivenUp(s), err == nil
		default: // apply says that nothing moves
			l.spoke, l.loose = true, true
			l.target = l.amount // as it advises
			return record, false
		}
	}
	l.card.later(time.Second + l.span(time.Minute)) // a person reads the plan
	if l.isWild() && l.chance(4) {
		l.act(mover)
	}
	record, err := change.Make(record, func(m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
		return l.move(mover, m, record)
	})
	if err != nil { // what was made makes the next plan another one
		l.loose = l.loose || len(movements) > 1 && !l.killed
	}
	return record, err == nil
}

// refresh reads the card until it is not stale.
func (l *life) refresh(record reconcile.Record) usd.Amount {
	for range 7 {
		s := l.card.read(l.lag())
		if s.Events = nil; !reconcile.Explain(record.Anchor, s, 0).Stale {
			return s.Balance
		}
		l.card.later(5 * time.Second)
	}
	return l.card.balance
}

func (l *life) plan(balance usd.Amount, record reconcile.Record) reconcile.Change {
	delta := l.target - l.amount
	c := reconcile.Change{ToppedUp: reconcile.Step{From: l.toppedUp, To: l.toppedUp}}
	if l.to > 0 {
		c.Range = &reconcile.Range{Below: l.below, To: l.to}
		if l.limit > 0 {
			c.Range.Limit = &l.limit
		}
		c.Was = c.Range
	}
	after := balance + delta
	if delta < 0 && (after < 0 || l.below > 0 && after < l.below) {
		l.target = l.amount // the plan refuses it
		if l.unsure {
			l.loose, l.abandoned = true, l.abandoned-delta
		}
		return c
	}
	c.Amount = reconcile.Step{From: l.amount, To: l.target}
	if c.Range != nil {
		c.ToppedUp.To += c.Range.Due(after, record.TopUps, reconcile.MonthOf(l.card.now))
	}
	return c
}

// act moves money by an action of the process that changes the card right after.
func (l *life) act(mover *transfer.Mover) {
	m := transfer.Movement{CardID: cardID, Movement: reconcile.Movement{Delta: l.sum(70)}}
	if l.chance(40) && m.Delta <= l.card.balance {
		m.Delta = -m.Delta
	}
	faulty := l.faulty
	l.faulty, l.acting, l.excused = false, true, true
	moved, err := mover.Move(l.t.Context(), m)
	l.tell("an action: %+v, %v", moved, err)
	l.faulty, l.acting = faulty, false
}

func (l *life) move(mover *transfer.Mover, m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
	l.movements++
	l.purpose = m.Purpose
	l.tell("move %+v, anchor %+v", m, record.Anchor)
	moved, err := mover.Move(l.t.Context(), transfer.Movement{CardID: cardID, Movement: m, Record: &record})
	l.tell("%+v, %v; the service has moved %s in all", moved, err, l.moved)
	if m.Purpose == reconcile.ForTopUp && err != nil {
		l.unsaved += m.Delta
	}
	if l.killed {
		if !l.honoured && m.Delta < 0 && moved.LeftOver > 0 { // which hides that it was made
			l.loose, l.abandoned = true, l.abandoned-m.Delta
		}
		return record, errKilled
	}
	stopped, isStopped := errors.AsType[*transfer.StoppedError](err)
	_, isUndecided := errors.AsType[*transport.UndecidedError](err)
	l.told = l.told || isUndecided || isStopped
	l.spoke = l.spoke || isUndecided || isStopped || moved.How == api.AlreadySo || moved.LeftOver != 0 || moved.Excess != 0
	switch {
	case err == nil:
		l.book(m)
		l.state.untold, l.state.kept = l.untold, l.kept
	case isStopped:
		l.stops++
		l.crossed = l.crossed || l.onTheWay > 0 // and comes besides, where it is sent again
		l.isSaidOnce(moved.Record, m, stopped.Reason)
		l.heed(m)
	}
	return moved.Record, err
}

// isSaidOnce checks that the same facts do not stop twice.
func (l *life) isSaidOnce(next reconcile.Record, m reconcile.Movement, reason reconcile.Reason) {
	if reason == reconcile.NotShown || l.excused || l.lagging || l.replica > 0 {
		return
	}
	again := reconcile.Ask(next, m, l.card.read(0), reconcile.Policy{KeysHonoured: l.honoured})
	switch again.Reason {
	case reconcile.NotDue, reconcile.IntoRange, reconcile.OverCap:
	default:
		if again.Verdict != reconcile.Send {
			l.fail("stopped for reason %d, and then %d for %d", reason, again.Verdict, again.Reason)
		}
	}
}

// heed does what a stop advises: it looks, and sets amount back if the movement was made.
func (l *life) heed(m reconcile.Movement) {
	if beside := l.departure() - m.Delta; l.strict && m.Purpose == reconcile.ForAmount && beside >= 0 && beside <= l.unsaved {
		l.target = l.amount
		l.moved[m.Purpose] -= m.Delta
		l.abandoned += max(0, -m.Delta)
	}
}

func (l *life) book(m reconcile.Movement) {
	if m.Purpose == reconcile.ForTopUp {
		l.toppedUp += m.Delta
	} else {
		l.amount += m.Delta
	}
}
