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

// run is one run of Terraform.
type run struct {
	faulty   bool // requests may be lost, late, doubled or refused, and the run may be killed
	killed   bool
	acting   bool              // an action moves money
	purpose  reconcile.Purpose // of the movement that the update makes
	answered bool              // that movement was answered with a 2xx
	replica  time.Duration     // it reads a replica that is so far behind
	behind   time.Duration     // how old the latest response was
}

// lag is how far the next reading is behind.
func (l *life) lag() time.Duration {
	if l.service.lagging && l.chance(30) {
		return l.run.replica + l.span(12*time.Second)
	}
	return l.run.replica
}

// apply is one run: refresh, plan, apply. It reports whether all is as configured.
func (l *life) apply(faulty bool) bool {
	begin := l.state
	l.run = run{faulty: faulty}
	if faulty && l.world == wild && l.chance(10) {
		l.run.replica = []time.Duration{5 * time.Second, 35 * time.Second, 5 * time.Minute}[l.rng.IntN(3)]
	}
	client, err := api.New(api.Config{
		BaseURL: "https://model/api/v1", APIKey: "sk_live_model", Transport: l, Clock: l, KeysHonoured: l.kind.honoured, MaxRetries: transport.DefaultMaxRetries,
	})
	if err != nil {
		panic(err)
	}
	mover := transfer.New(client)
	if !l.wired {
		mover.Cards = l
	}
	record, done := l.runWith(mover, reconcile.ParseRecord(cardID, l.state.record))
	l.lastRunFailed = !done
	if l.run.killed {
		l.tell("killed")
		l.state = begin
		return false
	}
	l.state.record = record.Text(cardID)
	if l.world == wild {
		l.earlier = append(l.earlier, begin)
	}
	return done
}

// runWith returns the record that the run ends with, and whether all is as configured.
func (l *life) runWith(mover *transfer.Mover, record reconcile.Record) (reconcile.Record, bool) {
	balance := l.refresh(record)
	if record.Pending != nil {
		record = l.resolve(mover, record)
	}
	change := l.plan(balance, record)
	movements := change.Movements()
	l.tell("apply: %s of %s, topped up %s, card %s, %d movements", l.state.amount, l.config.amount, l.state.toppedUp, l.card.balance, len(movements))
	if record.Pending != nil {
		l.undecidedRuns++
		if l.undecidedRuns > 2 { // people give up
			l.config.amount = l.state.amount
		}
		if l.config.amount == l.state.amount { // as it was set back, and top_up is left out
			return l.giveUp(mover, record)
		}
		if !record.Repeats(movements[0]) { // apply says that nothing moves
			l.ledger.reported = true
			l.note(gaveUp)
			l.config.amount = l.state.amount // as it advises
			return record, false
		}
	}
	l.card.later(time.Second + l.span(time.Minute)) // a person reads the plan
	if l.world == wild && l.chance(4) {
		l.act(mover)
	}
	var err error
	for _, m := range movements {
		record, err = l.move(mover, m, record)
		if err != nil {
			break
		}
	}
	if err != nil && len(movements) > 1 && !l.run.killed {
		l.note(failedHalfway)
	}
	return record, err == nil
}

// refresh reads the card until it is not stale.
func (l *life) refresh(record reconcile.Record) usd.Amount {
	for range 7 {
		s := l.card.read(l.lag())
		s.Events = nil
		if !reconcile.Explain(record.Anchor, s, 0).Stale {
			return s.Balance
		}
		l.card.later(5 * time.Second)
	}
	return l.card.balance
}

// resolve finds out what became of the pending movement, as a plan does.
func (l *life) resolve(mover *transfer.Mover, record reconcile.Record) reconcile.Record {
	resolved, err := mover.Resolve(l.t.Context(), cardID, record)
	l.tell("resolved: %+v, %v", resolved, err)
	if err != nil {
		l.ledger.reported = true
	}
	if resolved.How == api.AlreadyDone {
		l.book(record.Pending.Movement())
	}
	return resolved.Record
}

func (l *life) giveUp(mover *transfer.Mover, record reconcile.Record) (reconcile.Record, bool) {
	l.undecidedRuns = 0
	l.ledger.reported = true
	l.note(gaveUp)
	s, err := mover.Cards.ReadSnapshot(l.t.Context(), cardID, record)
	return record.GivenUp(s), err == nil
}

func (l *life) plan(balance usd.Amount, record reconcile.Record) reconcile.Change {
	delta := l.config.amount - l.state.amount
	c := reconcile.Change{ToppedUpBefore: l.state.toppedUp, ToppedUpAfter: l.state.toppedUp}
	if l.config.to > 0 {
		c.RangeAfter = &reconcile.Range{Below: l.config.below, To: l.config.to}
		if l.config.limit > 0 {
			c.RangeAfter.Limit = &l.config.limit
		}
		c.RangeBefore = c.RangeAfter
	}
	after := balance + delta
	if delta < 0 && (after < 0 || l.config.below > 0 && after < l.config.below) {
		l.config.amount = l.state.amount // the plan refuses it
		if l.lastRunFailed {
			l.note(refusedAfterFailure)
			l.ledger.uncounted -= delta
		}
		return c
	}
	c.AmountBefore = l.state.amount
	c.AmountAfter = l.config.amount
	if c.RangeAfter != nil {
		c.ToppedUpAfter += c.RangeAfter.Due(after, record.TopUps, reconcile.MonthOf(l.card.now))
	}
	return c
}

// act moves money by an action of the process that changes the card right after.
func (l *life) act(mover *transfer.Mover) {
	m := reconcile.Movement{Delta: l.sum(70)}
	if l.chance(40) && m.Delta <= l.card.balance {
		m.Delta = -m.Delta
	}
	faulty := l.run.faulty
	l.run.faulty = false
	l.run.acting = true
	l.note(actionMoved)
	moved, err := mover.Move(l.t.Context(), cardID, m, nil)
	l.tell("an action: %+v, %v", moved, err)
	l.run.faulty = faulty
	l.run.acting = false
}

func (l *life) move(mover *transfer.Mover, m reconcile.Movement, record reconcile.Record) (reconcile.Record, error) {
	l.movements++
	l.run.purpose = m.Purpose
	l.run.answered = false
	l.tell("move %+v, anchor %+v", m, record.Anchor)
	moved, err := mover.Move(l.t.Context(), cardID, m, &record)
	l.tell("%+v, %v; the service has moved %s in all", moved, err, l.ledger.moved)
	if m.Purpose == reconcile.ForTopUp && err != nil {
		l.ledger.unsavedTopUps += m.Delta
	}
	if l.run.killed {
		if !l.kind.honoured && m.Delta < 0 && moved.LeftOver > 0 {
			l.note(killedBehindLeftOver)
			l.ledger.uncounted -= m.Delta
		}
		return record, errKilled
	}
	stopped, isStopped := errors.AsType[*transfer.StoppedError](err)
	_, isUndecided := errors.AsType[*transport.UndecidedError](err)
	if isUndecided || isStopped {
		l.ledger.heldUp = true
		l.ledger.reported = true
	}
	if moved.How == api.AlreadyDone || moved.LeftOver != 0 || moved.Excess != 0 {
		l.ledger.reported = true
	}
	if err == nil {
		l.book(m)
		l.state.mark = l.ledger.mark
	}
	if isStopped {
		l.stops++
		if l.ledger.onTheWay > 0 {
			l.note(stoppedMeanwhile)
		}
		l.checkStoppedOnce(moved.Record, m, stopped.Reason)
		l.heed(m)
	}
	return moved.Record, err
}

// heed does what a stop advises: it looks, and sets amount back if the movement was made.
func (l *life) heed(m reconcile.Movement) {
	beside := l.departure() - m.Delta
	if l.world == exact && m.Purpose == reconcile.ForAmount && beside >= 0 && beside <= l.ledger.unsavedTopUps {
		l.config.amount = l.state.amount
		l.ledger.moved[m.Purpose] -= m.Delta
		l.ledger.uncounted += max(0, -m.Delta)
	}
}

func (l *life) book(m reconcile.Movement) {
	if m.Purpose == reconcile.ForTopUp {
		l.state.toppedUp += m.Delta
	} else {
		l.state.amount += m.Delta
	}
}
