package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// issueReconciliation finds the card of one issuance whose response was lost.
// Issuances of which the cards would look the same in a list send side by side,
// but are reconciled one after the other, while none of the others is in flight.
type issueReconciliation struct {
	client    *Client
	request   IssueCardRequest
	body      string
	baseline  *baseline
	began     time.Time // the service's time before the first attempt
	release   func()
	exclusive bool
	undecided bool

	found      CardListItem
	candidates []CardListItem
}

// fingerprint is the same for all issuances whose cards look the same in a list.
func (r *issueReconciliation) fingerprint() string {
	return fmt.Sprintf("card %q %q %s", r.request.BinID, CanonicalLabel(r.request.Label), r.request.Amount)
}

func (r *issueReconciliation) join(ctx context.Context) (err error) {
	r.release, err = r.client.issues.locks.acquire(ctx, r.fingerprint(), shared)
	return err
}

// beExclusive waits until no issuance of this fingerprint is in flight and keeps
// others from starting.
func (r *issueReconciliation) beExclusive(ctx context.Context) error {
	if r.exclusive {
		return nil
	}
	t := r.client.issues
	t.mu.Lock()
	if t.unresolved[r.fingerprint()] == nil {
		t.unresolved[r.fingerprint()] = map[*issueReconciliation]struct{}{}
	}
	t.unresolved[r.fingerprint()][r] = struct{}{}
	t.mu.Unlock()

	r.release()
	r.release = func() {}
	release, err := t.locks.acquire(ctx, r.fingerprint(), exclusive)
	if err != nil {
		return err
	}
	r.release, r.exclusive = release, true
	return nil
}

// leave ends the reconciliation. An undecided issuance stays unresolved: a card
// that comes to light later may be its.
func (r *issueReconciliation) leave() {
	defer r.release()
	if r.undecided {
		return
	}
	t := r.client.issues
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.unresolved[r.fingerprint()], r)
	if len(t.unresolved[r.fingerprint()]) == 0 {
		delete(t.unresolved, r.fingerprint())
	}
}

// verify claims the card for this issuance when it is certain. Among several
// issuances of one and the same body any card that came of them will do for any
// of them.
func (r *issueReconciliation) verify(ctx context.Context) outcome {
	if err := r.beExclusive(ctx); err != nil {
		return outcome{undecided, err}
	}
	var err error
	if r.candidates, err = r.unclaimed(ctx); err != nil {
		return outcome{undecided, err}
	}
	if !r.request.GeneratedLabel {
		if err := r.dropEarlier(ctx); err != nil {
			return outcome{undecided, err}
		}
	}
	equal, others := r.contenders()
	switch n := len(r.candidates); {
	case n == 0:
		return outcome{state: notApplied}
	case others > 0:
		return outcome{undecided, fmt.Errorf("%d new cards look like it, and so do other cards that were asked for with other properties", n)}
	case n > 1+equal:
		return outcome{undecided, fmt.Errorf("%d new cards look like it", n)}
	}
	r.found = r.candidates[len(r.candidates)-1]
	if asked := r.request.SpendingLimit; asked != nil && r.found.SpendingLimit != *asked && !r.request.GeneratedLabel {
		return outcome{undecided, fmt.Errorf("card %s looks like it, but has a spending limit of %s in place of %s USD", r.found.ID, r.found.SpendingLimit, asked)}
	}
	r.client.issues.claim(r.found, r.client.clock.Now())
	return outcome{state: applied}
}

// dropEarlier leaves out candidates that were there before the first attempt:
// another pipeline may issue cards with the same label. One that was issued only
// shortly before may be ours by a clock that differs, so nothing is certain then.
func (r *issueReconciliation) dropEarlier(ctx context.Context) error {
	const sameMoment, differentClocks = 10 * time.Second, 2 * time.Minute
	if r.began.IsZero() {
		return nil
	}
	var kept []CardListItem
	for _, card := range r.candidates {
		summary, err := r.client.GetCard(ctx, card.ID)
		if err != nil {
			return err
		}
		created, err := summary.CreatedAt.Time()
		switch before := r.began.Sub(created); {
		case err != nil || before <= sameMoment:
			kept = append(kept, card)
		case before < differentClocks:
			return fmt.Errorf("card %s looks like it, but was issued %s before it was asked for", card.ID, before.Round(time.Second))
		}
	}
	r.candidates = kept
	return nil
}

// contenders counts the other unresolved issuances of this fingerprint, with the
// same body and with another.
func (r *issueReconciliation) contenders() (equal, others int) {
	t := r.client.issues
	t.mu.Lock()
	defer t.mu.Unlock()
	for contender := range t.unresolved[r.fingerprint()] {
		switch {
		case contender == r:
		case contender.body == r.body:
			equal++
		default:
			others++
		}
	}
	return equal, others
}

// unclaimed lists the new cards that look like this issuance's and that no other
// call has claimed, newest first.
func (r *issueReconciliation) unclaimed(ctx context.Context) ([]CardListItem, error) {
	const enough = 10 // cards from before; one might not do, if cards of one second have no fixed order
	var cards []CardListItem
	old := 0
	_, err := r.client.walkCards(ctx, CardFilter{BinID: r.request.BinID}, func(card CardListItem) bool {
		switch {
		case r.baseline.ids[card.ID]:
			old++
		case r.matches(card) && !r.client.issues.isClaimed(card.ID):
			cards = append(cards, card)
		}
		return old < enough
	})
	if err != nil {
		return nil, err
	}
	if r.baseline.full && old == 0 && !r.request.GeneratedLabel && len(cards) > 0 {
		return cards, errors.New("the cards that were there before are no longer listed, so new ones cannot be told from old ones")
	}
	return r.likeliest(cards), nil
}

// likeliest are the cards with the limit that was asked for, or, where there is
// none, all of them: the service may clamp limits.
func (r *issueReconciliation) likeliest(cards []CardListItem) []CardListItem {
	asked := r.request.SpendingLimit
	if asked == nil || !slices.ContainsFunc(cards, func(card CardListItem) bool { return card.SpendingLimit == *asked }) {
		return cards
	}
	return slices.DeleteFunc(cards, func(card CardListItem) bool { return card.SpendingLimit != *asked })
}

func (r *issueReconciliation) matches(card CardListItem) bool {
	q := r.request
	switch {
	case CanonicalLabel(card.Label) != CanonicalLabel(q.Label), card.BinID != "" && !strings.EqualFold(card.BinID, q.BinID):
		return false
	case q.GeneratedLabel:
		return true
	}
	return card.Balance == q.Amount && (q.SpendingLimit == nil || card.SpendingLimit <= *q.SpendingLimit)
}

// strays are what an issuance that was sent several times has left behind, seen
// a moment later, when no other issuance may still find it to be its own.
func (r *issueReconciliation) strays(ctx context.Context, attempts int) []CardListItem {
	if equal, others := r.contenders(); attempts < 2 || equal+others > 0 {
		return nil
	}
	if r.client.clock.Wait(ctx, r.client.commitWait) != nil {
		return nil
	}
	cards, err := r.unclaimed(ctx)
	if err != nil {
		return nil
	}
	return cards
}

// giveUp adds the candidates to an undecided outcome.
func (r *issueReconciliation) giveUp(err error) error {
	if open, ok := errors.AsType[*UndecidedError](err); ok {
		open.Candidates = r.candidates
		r.undecided = true
	}
	return err
}
