package api

import (
	"context"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/labels"
)

// ErrLabelUndecided says that a card was not issued since another one with its label may exist.
var ErrLabelUndecided = errors.New("nothing was issued, because an earlier call of this run may have issued a card with the same label, and it is not known whether it did")

// issueTracker knows what this process has issued and what was there before, so
// that a card whose response was lost can be told from every other.
type issueTracker struct {
	locks lockTable // of labels, and of the BINs whose baseline is read

	mu        sync.Mutex
	baselines map[string]*baseline // by BIN
	undecided map[string]bool      // labels of which a card may have been issued that is not known
	requested map[string]bool      // labels of all issuances, folded
}

func (t *issueTracker) addRequested(label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requested[foldLabel(label)] = true
}

func (t *issueTracker) isRequested(folded string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requested[folded]
}

func (t *issueTracker) setUndecided(label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undecided[label] = true
}

func (t *issueTracker) isUndecided(label string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided[label]
}

// baseline is the newest page of a BIN before the process's first issuance on it.
type baseline struct {
	ids    map[string]bool
	labels map[string]bool // folded
	full   bool            // there are more cards than these
}

func (t *issueTracker) baselineOf(ctx context.Context, c *Client, bin string) (*baseline, error) {
	unlock, err := t.locks.lock(ctx, "bin "+bin)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t.mu.Lock()
	known := t.baselines[bin]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	page, err := c.ListCards(ctx, CardFilter{BinID: bin}, 1, MaxPerPage)
	if err != nil {
		return nil, err
	}
	known = &baseline{ids: map[string]bool{}, labels: map[string]bool{}}
	known.full = page.Total == nil && len(page.Data) > 0 || page.Total != nil && *page.Total > len(page.Data)
	for _, card := range page.Data {
		known.ids[card.ID] = true
		known.labels[foldLabel(card.Label.Raw())] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.baselines[bin] = known
	return known, nil
}

// issueSearch finds the card of one issuance whose response was lost. One issuance
// of a label on a BIN follows the other, so that no new card is that of another one.
type issueSearch struct {
	client   *Client
	request  IssueCardRequest
	baseline *baseline
	began    time.Time // the service's time before the first attempt; zero where it does not tell it

	candidates []CardSummary // of the last look
}

// labelOnBIN is the same for all cards that may look the same in a list: not each card
// holds its load.
func (q IssueCardRequest) labelOnBIN() string {
	return fmt.Sprintf("card %q %q", q.BinID, labels.Canonical(q.Label))
}

// accept claims the card of a response to this issuance, or says why it is another.
// A service that shows no label does not say whose card it is.
func (s *issueSearch) accept(card CardSummary) error {
	reason := errors.New("was issued for another request")
	switch {
	case s.baseline.ids[card.ID]:
		reason = errors.New("was issued before")
	case !s.request.isOnBIN(card.CardListItem):
		reason = fmt.Errorf("is on BIN %q", card.BinID)
	case card.Label.Raw() != "" && !s.request.isLabelled(card.CardListItem) && !s.isRewritten(card):
		reason = fmt.Errorf("has the label %q", card.Label)
	case s.client.recent.claim(card.CardListItem, s.client.clock.Now()):
		return nil
	}
	return fmt.Errorf("the response is about card %s, which %w", card.ID, reason)
}

// isRewritten reports whether the card of this request's own response has its label as a service
// may rewrite one: normalized, in other letters, escaped for HTML, or cut. Load and BIN have to be
// as they were asked for, and the card has to be new.
func (s *issueSearch) isRewritten(card CardSummary) bool {
	const shortest = 20 // characters of a label that was cut
	if !strings.EqualFold(card.BinID, s.request.BinID) || card.Balance != s.request.Amount {
		return false
	}
	createdAt, _ := card.CreatedAt.Time() // zero where it cannot be read
	if !createdAt.IsZero() && s.began.Sub(createdAt) > sameMoment {
		return false
	}
	label := html.UnescapeString(card.Label.Raw())
	asked := foldLabel(s.request.Label)
	shown := foldLabel(label)
	if shown == asked {
		return true
	}
	length := utf8.RuneCountInString(shown)
	if strings.HasSuffix(label, " ") { // it was cut behind a space, which folding takes off
		length++
	}
	if length < shortest || !strings.HasPrefix(asked, shown) {
		return false
	}
	return !s.baseline.labels[shown] && !s.client.issues.isRequested(shown)
}

// foldLabel is the same for labels that differ in normalization, letter case and spaces alone.
func foldLabel(label string) string {
	return labels.Canonical(cases.Fold().String(norm.NFKC.String(label)))
}

// find claims the card for this issuance when it is certain, and returns nil where there is
// none. The error says why it cannot be told. Lists and loads may be late, so that a card which
// is not there is looked for again.
func (s *issueSearch) find(ctx context.Context) (*CardListItem, error) {
	for waited := transport.CommitWait; ; waited += transport.LookAgainAfter {
		last := waited >= shownWithin
		cards, err := s.unclaimed(ctx, last)
		if err != nil {
			return nil, err
		}
		if last || slices.ContainsFunc(cards, s.request.hasLoad) {
			return s.claim(ctx, cards)
		}
		err = s.client.clock.Wait(ctx, transport.LookAgainAfter)
		if err != nil {
			return nil, err
		}
	}
}

// claim takes the one of some cards that is certain to be this issuance's.
func (s *issueSearch) claim(ctx context.Context, cards []CardListItem) (*CardListItem, error) {
	candidates, err := s.readCreated(ctx, s.request.bestMatches(cards))
	s.candidates = candidates
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	err = s.request.identify(candidates, s.began)
	if err != nil {
		return nil, err
	}
	found := candidates[0].CardListItem
	s.client.recent.claim(found, s.client.clock.Now())
	return &found, nil
}

// findGenerated claims the card with the generated label, which is unique, if it is already listed.
func (s *issueSearch) findGenerated(ctx context.Context) *CardListItem {
	cards, err := s.unclaimed(ctx, false)
	if err != nil {
		return nil
	}
	cards = s.request.bestMatches(cards)
	if len(cards) != 1 || !s.client.recent.claim(cards[0], s.client.clock.Now()) {
		return nil
	}
	return &cards[0]
}

// readCreated adds when each card was created, which lists do not show, where the
// label alone does not tell.
func (s *issueSearch) readCreated(ctx context.Context, cards []CardListItem) ([]CardSummary, error) {
	all := make([]CardSummary, len(cards))
	for i, card := range cards {
		all[i].CardListItem = card
	}
	if s.request.GeneratedLabel || s.began.IsZero() {
		return all, nil
	}
	for i, card := range cards {
		summary, err := s.client.GetCard(ctx, card.ID)
		if err != nil {
			return all, err
		}
		all[i].CreatedAt = summary.CreatedAt
	}
	return all, nil
}

// unclaimed lists the new cards that look like this issuance's and that no other
// call has claimed, newest first. It ends where the cards from before begin, unless the
// whole list is wanted, which may not be newest first.
func (s *issueSearch) unclaimed(ctx context.Context, whole bool) ([]CardListItem, error) {
	const enough = 10 // cards from before; one might not do, if cards of one second have no fixed order
	var cards, behind []CardListItem
	old := 0
	for card, err := range s.client.ListedCards(ctx, CardFilter{BinID: s.request.BinID}) {
		if err != nil {
			return nil, err
		}
		switch {
		case s.baseline.ids[card.ID]:
			old++
		case !s.request.isLike(card) || s.client.recent.of(card.ID).issued != nil:
		case old < enough:
			cards = append(cards, card)
		default:
			behind = append(behind, card)
		}
		if !whole && old >= enough {
			break
		}
	}
	for _, card := range slices.Concat(cards, behind) {
		if !transport.IsID(card.ID) { // nothing can be asked about it
			return nil, transport.NoID("id", card.ID)
		}
	}
	for _, card := range behind {
		isNew, err := s.isNew(ctx, card)
		if err != nil {
			return nil, err
		}
		if isNew {
			cards = append(cards, card)
		}
	}
	if s.baseline.full && old == 0 && !s.request.GeneratedLabel && len(cards) > 0 {
		return cards, errors.New("the cards that were there before are no longer listed, so new ones cannot be told from old ones")
	}
	return cards, nil
}

// isNew reports whether a card behind those from before may be of this issuance.
func (s *issueSearch) isNew(ctx context.Context, card CardListItem) (bool, error) {
	if s.request.GeneratedLabel || s.began.IsZero() {
		return s.request.GeneratedLabel, nil
	}
	summary, err := s.client.GetCard(ctx, card.ID)
	created, _ := summary.CreatedAt.Time() // zero where it cannot be read
	return s.began.Sub(created) <= sameMoment, err
}

// duplicates are the cards that an issuance which was sent several times has left besides
// its own, as they are listed a moment later.
func (s *issueSearch) duplicates(ctx context.Context, attempts int) []CardListItem {
	if attempts < 2 {
		return nil
	}
	err := s.client.clock.Wait(ctx, transport.CommitWait)
	if err != nil {
		return nil
	}
	cards, err := s.unclaimed(ctx, true)
	if err != nil {
		return nil
	}
	return cards
}

func (s *issueSearch) candidatesFound() []transport.Candidate {
	var found []transport.Candidate
	for _, card := range s.candidates {
		found = append(found, transport.Candidate{ID: card.ID, Label: card.Label, Balance: card.Balance})
	}
	return found
}

// isLike reports whether a card of a list may be the one asked for: the service may have
// changed a label's letters or cut it, rounded a limit, or taken a fee from the load.
func (q IssueCardRequest) isLike(card CardListItem) bool {
	return q.isLabelled(card) && q.isOnBIN(card)
}

func (q IssueCardRequest) isLabelled(card CardListItem) bool {
	const cut = 12 // characters of a generated label that are random, like the eight that are left
	shown, asked := strings.ToLower(labels.Canonical(card.Label.Raw())), strings.ToLower(labels.Canonical(q.Label))
	isCut := q.GeneratedLabel && len(shown) >= len(asked)-cut && strings.HasPrefix(asked, shown)
	return shown == asked || isCut
}

func (q IssueCardRequest) isOnBIN(card CardListItem) bool {
	return card.BinID == "" || strings.EqualFold(card.BinID, q.BinID)
}

// bestMatches are the cards with the load, the label and the limit that were asked for
// or, where there is none, all of them.
func (q IssueCardRequest) bestMatches(cards []CardListItem) []CardListItem {
	for _, isExact := range []func(CardListItem) bool{q.hasLoad, q.hasLabel, q.hasLimit} {
		if slices.ContainsFunc(cards, isExact) {
			cards = slices.DeleteFunc(slices.Clone(cards), func(card CardListItem) bool { return !isExact(card) })
		}
	}
	return cards
}

// hasLoad reports whether a card tells by its balance that it may be the one asked for.
func (q IssueCardRequest) hasLoad(card CardListItem) bool {
	return q.GeneratedLabel || card.Balance == q.Amount
}

func (q IssueCardRequest) hasLabel(card CardListItem) bool {
	return labels.Canonical(card.Label.Raw()) == labels.Canonical(q.Label)
}

func (q IssueCardRequest) hasLimit(card CardListItem) bool {
	return q.SpendingLimit == nil || card.SpendingLimit == *q.SpendingLimit
}

// sameMoment is how long before it was asked for a card may seem to be created.
const sameMoment = 10 * time.Second

// identify returns an error unless the new cards that are like the one asked for are that
// one alone. It was asked for at a time that is zero when it is not known.
func (q IssueCardRequest) identify(alike []CardSummary, askedAt time.Time) error {
	if len(alike) != 1 {
		return fmt.Errorf("%d new cards look like it", len(alike))
	}
	card := alike[0]
	if q.GeneratedLabel {
		return nil
	}
	createdAt, _ := card.CreatedAt.Time() // zero where it cannot be read
	early := askedAt.Sub(createdAt)
	switch {
	case early > sameMoment && !createdAt.IsZero():
		return fmt.Errorf("card %s looks like it, but was issued %s before it was asked for, by the service's clock", card.ID, early.Round(time.Second))
	case !q.hasLoad(card.CardListItem):
		return fmt.Errorf("card %s looks like it, but holds %s instead of %s USD", card.ID, card.Balance, q.Amount)
	case !q.hasLabel(card.CardListItem):
		return fmt.Errorf("card %s looks like it, but has the label %q instead of %q", card.ID, card.Label, q.Label)
	case !q.hasLimit(card.CardListItem):
		return fmt.Errorf("card %s looks like it, but has a spending limit of %s instead of %s USD", card.ID, card.SpendingLimit, q.SpendingLimit)
	}
	return nil
}
