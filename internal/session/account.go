package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
)

// Account is what tells the account behind a key from others: hashes of its deposit
// addresses, one each, since addresses are rotated and coins added.
type Account []string

// Account returns what tells this account from others, asked once per session.
func (s *Session) Account(ctx context.Context) (Account, error) {
	return s.account.get(ctx, func(ctx context.Context) (Account, error) {
		addresses, err := s.Client.DepositAddresses(ctx, "")
		switch {
		case err != nil:
			return nil, err
		case len(addresses) == 0: // as any other account might have it
			return nil, errors.New("the service lists no deposit address for this account, and nothing else tells accounts apart")
		}
		var account Account
		for _, a := range addresses {
			sum := sha256.Sum256([]byte(a.Address.Raw()))
			account = append(account, hex.EncodeToString(sum[:6]))
		}
		slices.Sort(account)
		return slices.Compact(account), nil
	})
}

// Same reports whether this is the account that was known before, by an address
// that both have.
func (a Account) Same(known Account) bool {
	return slices.ContainsFunc(known, func(address string) bool { return slices.Contains(a, address) })
}

// Track notes that a card of the state is dealt with in this session, and what is
// known of the account that owns it.
func (s *Session) Track(id string, owner Account) { s.tracked.Store(id, owner) }

// TrackCard notes that a card is in the state.
func (s *Session) TrackCard(id string) { s.tracked.LoadOrStore(id, Account(nil)) }

// ReadBefore notes that a card of the state is read, and reports whether it was before,
// as a card is that the state has at two addresses.
func (s *Session) ReadBefore(id string) bool {
	_, before := s.read.LoadOrStore(id, true)
	return before
}

// NotGoneError says why a card that the service calls missing is not known to
// be gone.
type NotGoneError struct {
	Reason   string
	Sandbox  *Sandbox // the embedded service, when its file is another than the card's
	Foreign  bool     // the account, or the file, is not the card's
	Told     bool     // the reason was another card's before
	Unlisted bool     // the card was not asked for, because lists lack it
}

func (e *NotGoneError) Error() string { return e.Reason }

// IsNew reports whether a card was issued so recently that the service may not
// show it yet, by the service's clock or, where that is not told, by this machine's.
// The zero time is not known, and old.
func (s *Session) IsNew(created time.Time) bool {
	now, _ := s.Client.ServiceTime()
	return now.Sub(created) < api.HiddenFor
}

// ProveGone returns nil when a card of which the service answered 404 is gone: a
// complete listing that began after that shows it terminated, or lacks it as those of
// the live cards do, the key is the account's that the card belonged to, and the card
// is not too new to be shown. Every other error leaves the card as it is; a *NotGoneError says
// which sign is missing.
func (s *Session) ProveGone(ctx context.Context, id string, created time.Time, known Account) error {
	asked := s.Client.Clock().Now()
	cards, err := s.Cards.All(ctx, asked)
	switch {
	case errors.Is(err, fleet.ErrIncomplete):
		return s.notGone("The list of all cards does not show as many cards as the service counts, or its pages repeat.")
	case err != nil:
		return err
	}
	switch item, listed := cards[id]; {
	case listed && item.Status == api.StatusTerminated:
		s.tracked.Delete(id)
		return nil
	case listed:
		return s.stillListed(item)
	}
	account, err := s.Account(ctx)
	same := err == nil && account.Same(known)
	met, found, ours := 0, 0, 0
	s.tracked.Range(func(key, value any) bool {
		other, _ := key.(string)
		owner, _ := value.(Account)
		if other == id {
			return true
		}
		met++
		if _, listed := cards[other]; listed {
			found++
			if account.Same(owner) {
				ours++
			}
		}
		return true
	})
	recorded := len(known) > 0
	switch {
	case same && (met == 0 || found > 0):
	case recorded && err == nil && found > 0 && ours == 0: // all addresses have been rotated
	case s.Sandbox != nil && !same && err == nil:
		return s.notTheOwner()
	case same:
		return s.notGone("The API key sees none of the other cards in this state either.")
	case err != nil:
		return err
	case !recorded:
		return s.notGone("Which account owns the card was never recorded, so nothing tells whether it is gone or belongs to another account.")
	default:
		return s.notTheOwner()
	}
	if s.IsNew(created) {
		return s.notGone("It was issued only minutes ago, and the service may not show it everywhere yet.")
	}
	switch item, listed, err := s.Cards.Live(ctx, id, asked); {
	case err != nil:
		return err
	case listed:
		return s.stillListed(item)
	}
	s.tracked.Delete(id)
	return nil
}

func (s *Session) stillListed(card fleet.Card) *NotGoneError {
	return s.notGone("The list of cards still shows it, " + string(card.Status) + " and with " + card.Balance.String() + " USD.")
}

// notTheOwner notes and says that this is not the account of a card.
func (s *Session) notTheOwner() *NotGoneError {
	s.foreign.Store(true)
	reason := "The API key belongs to another account than the one that owned the card when Terraform last saw it."
	if s.Sandbox != nil {
		reason = s.Sandbox.notTheCards()
	}
	foreign := s.notGone(reason)
	foreign.Foreign, foreign.Sandbox = true, s.Sandbox
	return foreign
}

func (s *Session) notGone(reason string) *NotGoneError {
	_, told := s.reasons.LoadOrStore(reason, true)
	return &NotGoneError{Reason: reason, Told: told}
}

// CheckOwner returns a *NotGoneError for a card that need not be asked for: lists
// of this account's cards lack it and all others of the state, and it belonged to
// another account. Unlisted says that the lists of live cards lack it; otherwise
// only another card's case tells.
func (s *Session) CheckOwner(ctx context.Context, id string, owner Account, unlisted bool) error {
	if len(owner) == 0 || !unlisted && !s.foreign.Load() {
		return nil
	}
	account, err := s.Account(ctx)
	if err != nil || account.Same(owner) {
		return nil //nolint:nilerr // the card itself is asked for then
	}
	cards, err := s.Cards.All(ctx, time.Time{})
	if err != nil {
		return nil //nolint:nilerr // likewise
	}
	_, known := cards[id]
	s.tracked.Range(func(other, _ any) bool {
		text, _ := other.(string)
		_, listed := cards[text]
		known = known || listed
		return !known
	})
	if known {
		return nil
	}
	problem := s.notTheOwner()
	problem.Unlisted = true
	return problem
}

// notTheCards says of a sandbox whose account is not that of a card why it cannot
// tell of the card.
func (s *Sandbox) notTheCards() string {
	if s.Created {
		return "The sandbox file " + s.Path + " was missing and has been made new just now, with nothing in it, while the state still speaks of cards in an earlier file."
	}
	return "The sandbox file " + s.Path + " is not the one that held the card when Terraform last saw it."
}

// Successor returns the one live card with the label of a card of the state that
// no state of this run has, where pages that were read anyway show it: a run that
// was cut off while it replaced the card may have left it.
func (s *Session) Successor(id, label string) (api.CardListItem, bool) {
	alike := slices.DeleteFunc(s.Cards.LabelledSoFar(label), func(card api.CardListItem) bool { return card.ID == id })
	if len(alike) != 1 { // of several, the label tells nothing
		return api.CardListItem{}, false
	}
	_, met := s.tracked.Load(alike[0].ID)
	return alike[0], !met
}
