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

// ErrLabelUndecided reports that a card was not issued, because an earlier request may have issued one with the same
// label.
var ErrLabelUndecided = errors.New("nothing was issued, because an earlier request of this run may have issued a card with this label")

// issueTracker remembers which labels were requested and which cards existed before, to identify the card of an
// issuance.
type issueTracker struct {
	locks lockTable // of labels on BINs (see labelOnBIN), and of the BINs whose baseline is read

	mu        sync.Mutex
	baselines map[string]*baseline // by BIN
	undecided map[string]bool      // results of labelOnBIN, for issuances with an unknown outcome
	requested map[string]bool      // labels of the requested cards, as foldLabel returns them
}

// addRequested records that a card with this label was requested.
func (t *issueTracker) addRequested(label string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requested[foldLabel(label)] = true
}

// isRequested reports whether a card with this folded label was requested.
func (t *issueTracker) isRequested(folded string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requested[folded]
}

func (t *issueTracker) setUndecided(labelOnBIN string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undecided[labelOnBIN] = true
}

func (t *issueTracker) isUndecided(labelOnBIN string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undecided[labelOnBIN]
}

// baseline has the first page of a BIN's cards, as listed before this process issues cards on the BIN.
type baseline struct {
	ids       map[string]bool
	labels    map[string]bool // as foldLabel returns them
	isPartial bool            // the BIN has, or may have, more cards than these
}

// baselineOf returns the baseline of a BIN. It reads the baseline if it is not known yet.
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
	result := &baseline{ids: map[string]bool{}, labels: map[string]bool{}}
	if page.Total == nil {
		result.isPartial = len(page.Data) > 0 // the total is not known, so there may be more
	} else {
		result.isPartial = *page.Total > len(page.Data)
	}
	for _, card := range page.Data {
		result.ids[card.ID] = true
		label := foldLabel(card.Label.Raw())
		result.labels[label] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.baselines[bin] = result
	return result, nil
}

// issueSearch makes one issuance. It checks that a response is about the requested card, and looks for the card if the
// response was lost.
type issueSearch struct {
	client   *Client
	request  IssueCardRequest
	baseline *baseline
	beganAt  time.Time // the service's time before the first attempt; zero if it is not known

	candidates []CardSummary // cards that may be the requested one; set by find
}

// accept claims the card of a response to this issuance. The error says why the card cannot be the requested one.
func (s *issueSearch) accept(card CardSummary) error {
	if s.baseline.ids[card.ID] {
		return fmt.Errorf("the response is about card %s, which was issued before", card.ID)
	}
	if !s.request.isOnBIN(card.CardListItem) {
		return fmt.Errorf("the response is about card %s, which is on BIN %q", card.ID, card.BinID)
	}
	if !s.hasAcceptableLabel(card) {
		return fmt.Errorf("the response is about card %s, which has the label %q", card.ID, card.Label)
	}
	claimed := s.client.recent.claim(card.CardListItem, s.client.clock.Now())
	if !claimed {
		return fmt.Errorf("the response is about card %s, which was issued for another request", card.ID)
	}
	return nil
}

// hasAcceptableLabel reports whether the card of a response may have the requested label. Some services show no
// label.
func (s *issueSearch) hasAcceptableLabel(card CardSummary) bool {
	if card.Label.Raw() == "" {
		return true
	}
	return s.request.isLabelled(card.CardListItem) || s.isRewritten(card)
}

// isRewritten reports whether the card of this request's own response has the requested label as a service may rewrite
// it: normalized, in another case, escaped for HTML, or cut. The BIN and the balance must be the requested ones, and
// the card must not be known to be older than the request.
func (s *issueSearch) isRewritten(card CardSummary) bool {
	const minCutLength = 20 // characters of a cut label that are enough to identify it
	if !strings.EqualFold(card.BinID, s.request.BinID) || card.Balance != s.request.Amount {
		return false
	}
	createdAt, _ := card.CreatedAt.Time() // zero if it cannot be read
	if !createdAt.IsZero() && isTooOld(createdAt, s.beganAt) {
		return false
	}
	label := html.UnescapeString(card.Label.Raw())
	requested := foldLabel(s.request.Label)
	shown := foldLabel(label)
	if shown == requested {
		return true
	}
	length := utf8.RuneCountInString(shown)
	if strings.HasSuffix(label, " ") { // it may have been cut after a space, which folding removes
		length++
	}
	if length < minCutLength || !strings.HasPrefix(requested, shown) {
		return false
	}
	// The shorter label may be the complete label of another card.
	return !s.baseline.labels[shown] && !s.client.issues.isRequested(shown)
}

// foldLabel returns the same text for labels that differ only in Unicode normalization, in case, and in leading,
// trailing or repeated white space.
func foldLabel(label string) string {
	normalized := norm.NFKC.String(label)
	folded := cases.Fold().String(normalized)
	return labels.Canonical(folded)
}

// find claims the card of this issuance, or returns nil if there is none. The error says why the card cannot
// be identified. A service may update lists and balances late, so find polls until a card has the requested load, or
// until some time has passed.
func (s *issueSearch) find(ctx context.Context) (*CardListItem, error) {
	// Normally, CommitWait has already passed since the request.
	const polls = int((shownWithin - transport.CommitWait) / transport.PollInterval)
	for poll := 0; ; poll++ {
		last := poll == polls
		readAll := last // the earlier polls can be quick
		cards, err := s.unclaimed(ctx, readAll)
		if err != nil {
			s.candidates = withoutTimes(s.request.bestMatches(cards))
			return nil, err
		}
		if last || slices.ContainsFunc(cards, s.request.hasLoad) {
			return s.claim(ctx, cards)
		}
		err = s.client.clock.Wait(ctx, transport.PollInterval)
		if err != nil {
			return nil, err
		}
	}
}

// claim identifies the card of this issuance among the given cards and claims it. It returns nil if there is
// none. It also sets candidates.
func (s *issueSearch) claim(ctx context.Context, cards []CardListItem) (*CardListItem, error) {
	candidates, err := s.readCreated(ctx, s.request.bestMatches(cards))
	s.candidates = candidates
	if err != nil {
		return nil, err
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	err = s.request.checkSingleMatch(candidates, s.beganAt)
	if err != nil {
		return nil, err
	}
	found := candidates[0].CardListItem
	claimed := s.client.recent.claim(found, s.client.clock.Now())
	if !claimed { // an issuance with a similar label may have claimed it meanwhile
		s.candidates = nil
		return nil, fmt.Errorf("card %s was issued for another request", found.ID)
	}
	return &found, nil
}

// findGenerated claims the card with the generated label if the service already lists exactly one. Otherwise, or if the
// cards cannot be listed, it returns nil.
func (s *issueSearch) findGenerated(ctx context.Context) *CardListItem {
	const readAll = false // to be quick
	cards, err := s.unclaimed(ctx, readAll)
	if err != nil {
		return nil
	}
	cards = s.request.bestMatches(cards)
	if len(cards) != 1 {
		return nil
	}
	claimed := s.client.recent.claim(cards[0], s.client.clock.Now())
	if !claimed {
		return nil
	}
	return &cards[0]
}

// readCreated adds the time at which each card was created, which lists do not show. It adds no times if the label
// alone identifies the card, or if the time of the request is not known. With an error, it returns all cards, but the
// times of some are missing.
func (s *issueSearch) readCreated(ctx context.Context, cards []CardListItem) ([]CardSummary, error) {
	all := withoutTimes(cards)
	if s.request.GeneratedLabel || s.beganAt.IsZero() {
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

// withoutTimes returns listed cards without the times at which they were created.
func withoutTimes(cards []CardListItem) []CardSummary {
	all := make([]CardSummary, len(cards))
	for i, card := range cards {
		all[i].CardListItem = card
	}
	return all
}

// unclaimed lists the new cards that may be the requested one and that were not claimed before. Unless readAll is true,
// it stops after some cards of the baseline, and misses new cards that a service lists after those. The error says why
// the cards cannot be listed or told apart. With an error, unclaimed may return some of the new cards.
func (s *issueSearch) unclaimed(ctx context.Context, readAll bool) ([]CardListItem, error) {
	// Cards of the same second may come in any order, so one old card does not mean that all new ones were listed.
	const enoughOld = 10
	var cards, afterBaseline []CardListItem
	oldCards := 0 // cards of the baseline so far
	for card, err := range s.client.ListedCards(ctx, CardFilter{BinID: s.request.BinID}) {
		if err != nil {
			return nil, err
		}
		if s.baseline.ids[card.ID] {
			oldCards++
			if oldCards >= enoughOld && !readAll {
				break
			}
			continue
		}
		claimed := s.client.recent.get(card.ID).issued != nil
		if claimed || !s.request.isLike(card) {
			continue
		}
		if oldCards < enoughOld {
			cards = append(cards, card)
		} else {
			afterBaseline = append(afterBaseline, card)
		}
	}
	for _, card := range slices.Concat(cards, afterBaseline) {
		if !transport.IsID(card.ID) { // a card with such an id cannot be read
			return nil, transport.InvalidID("id", card.ID)
		}
	}
	for _, card := range afterBaseline {
		fresh, err := s.isNew(ctx, card)
		if err != nil {
			return cards, err
		}
		if fresh {
			cards = append(cards, card)
		}
	}
	if s.request.GeneratedLabel || len(cards) == 0 {
		return cards, nil
	}
	if s.baseline.isPartial && oldCards == 0 {
		return nil, errors.New("the service no longer lists the earlier cards, so new cards cannot be told apart from them")
	}
	return cards, nil
}

// isNew reports whether a card that is listed after those of the baseline may belong to this issuance.
func (s *issueSearch) isNew(ctx context.Context, card CardListItem) (bool, error) {
	if s.request.GeneratedLabel {
		return true, nil
	}
	if s.beganAt.IsZero() {
		return false, errors.New("the service's time is not known, so new cards cannot be told apart from earlier ones")
	}
	summary, err := s.client.GetCard(ctx, card.ID)
	if err != nil {
		return false, err
	}
	createdAt, _ := summary.CreatedAt.Time() // if it cannot be read, the zero time, which is too old
	return !isTooOld(createdAt, s.beganAt), nil
}

// duplicates waits for CommitWait, and then lists other new cards that look like the issued one. A request
// that was sent more than once may have issued them. The result may lack cards if they cannot be listed or told apart, and
// is empty after a single attempt.
func (s *issueSearch) duplicates(ctx context.Context, attempts int) []CardListItem {
	if attempts < 2 {
		return nil
	}
	err := s.client.clock.Wait(ctx, transport.CommitWait)
	if err != nil {
		return nil
	}
	const readAll = true // a service may list the cards after those of the baseline
	cards, _ := s.unclaimed(ctx, readAll)
	return cards // even with an error, because these are worth a warning
}

// candidatesFound returns the candidates for an *UndecidedError.
func (s *issueSearch) candidatesFound() []transport.Candidate {
	var found []transport.Candidate
	for _, card := range s.candidates {
		found = append(found, transport.Candidate{ID: card.ID, Label: card.Label, Balance: card.Balance})
	}
	return found
}

// labelOnBIN returns a text that identifies the BIN and the label of a request. The load is left out, because a card's
// balance may differ from its load.
func (q IssueCardRequest) labelOnBIN() string {
	return fmt.Sprintf("card %q %q", q.BinID, labels.Canonical(q.Label))
}

// isLike reports whether a listed card may be the requested one. The service may have changed the label's case, or
// cut a generated one. It may also have rounded a limit or taken a fee from the load, so these are not compared.
func (q IssueCardRequest) isLike(card CardListItem) bool {
	return q.isLabelled(card) && q.isOnBIN(card)
}

// isLabelled reports whether a card has the requested label, ignoring case. If that label was generated, the card's may
// be cut.
func (q IssueCardRequest) isLabelled(card CardListItem) bool {
	const longestCut = 12 // bytes that may be cut off a generated label; the others still identify it
	shown := strings.ToLower(labels.Canonical(card.Label.Raw()))
	requested := strings.ToLower(labels.Canonical(q.Label))
	if shown == requested {
		return true
	}
	if !q.GeneratedLabel {
		return false
	}
	minLength := len(requested) - longestCut
	return len(shown) >= minLength && strings.HasPrefix(requested, shown)
}

// isOnBIN reports whether a card is on the requested BIN, or has no BIN in the response.
func (q IssueCardRequest) isOnBIN(card CardListItem) bool {
	return card.BinID == "" || strings.EqualFold(card.BinID, q.BinID)
}

// bestMatches first selects the cards with the requested load. Of these, it selects the ones with the requested
// label, and of those, the ones with the requested limit. It skips each step that would leave no card.
func (q IssueCardRequest) bestMatches(cards []CardListItem) []CardListItem {
	for _, matches := range []func(CardListItem) bool{q.hasLoad, q.hasLabel, q.hasLimit} {
		if slices.ContainsFunc(cards, matches) {
			differs := func(card CardListItem) bool { return !matches(card) }
			cards = slices.DeleteFunc(slices.Clone(cards), differs)
		}
	}
	return cards
}

// hasLoad reports whether the balance of a card matches the request. With a generated label, any balance does.
func (q IssueCardRequest) hasLoad(card CardListItem) bool {
	return q.GeneratedLabel || card.Balance == q.Amount
}

func (q IssueCardRequest) hasLabel(card CardListItem) bool {
	return labels.Canonical(card.Label.Raw()) == labels.Canonical(q.Label)
}

func (q IssueCardRequest) hasLimit(card CardListItem) bool {
	return q.SpendingLimit == nil || card.SpendingLimit == *q.SpendingLimit
}

// clockTolerance is how long before its request a card may seem to have been created, because times are not exact.
const clockTolerance = 10 * time.Second

// isTooOld reports whether a card was created too long before a request to be the requested one.
func isTooOld(createdAt, requestedAt time.Time) bool {
	return requestedAt.Sub(createdAt) > clockTolerance
}

// checkSingleMatch returns an error unless exactly one new card matches the request. requestedAt is zero if the
// service's time is not known.
func (q IssueCardRequest) checkSingleMatch(similar []CardSummary, requestedAt time.Time) error {
	if len(similar) != 1 {
		return fmt.Errorf("%d new cards are similar to the requested one", len(similar))
	}
	card := similar[0]
	if q.GeneratedLabel {
		return nil
	}
	createdAt, _ := card.CreatedAt.Time() // zero if it cannot be read
	if !createdAt.IsZero() && isTooOld(createdAt, requestedAt) {
		ageAtRequest := requestedAt.Sub(createdAt)
		return fmt.Errorf("card %s is similar, but was issued %s before the request, according to the service's clock",
			card.ID, ageAtRequest.Round(time.Second))
	}
	if !q.hasLoad(card.CardListItem) {
		return fmt.Errorf("card %s is similar, but its balance is %s instead of %s USD", card.ID, card.Balance, q.Amount)
	}
	if !q.hasLabel(card.CardListItem) {
		return fmt.Errorf("card %s is similar, but has the label %q instead of %q", card.ID, card.Label, q.Label)
	}
	if !q.hasLimit(card.CardListItem) {
		return fmt.Errorf("card %s is similar, but has a spending limit of %s instead of %s USD", card.ID, card.SpendingLimit, q.SpendingLimit)
	}
	return nil
}
