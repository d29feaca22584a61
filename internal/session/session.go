// Package session is what one configured provider shares with its resources,
// data sources, actions and list resources.
package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/singleflight"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/fleet"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Session holds the client of one provider configuration and what is worth
// remembering between calls. It is safe for concurrent use.
type Session struct {
	Client  *api.Client  // nil while the provider's configuration is not known yet
	Cards   *fleet.Fleet // nil like Client
	Sandbox *Sandbox     // nil where the client speaks to a service elsewhere

	MaxCardLoad     *usd.Amount // the most that one card may be given, in USD; nil is no bound
	MaxTakenPerPlan *usd.Amount // the most that a plan may take from the wallet, in USD; nil is no bound
	LabelPrefix     string      // of the labels of cards that are given none
	WalletCheck     WalletCheck

	bins      fetchedOnce[[]api.Bin]
	unmanaged unmanaged
	spend     spend
	plan      plan
	met       sync.Map // the cards of the state so far, by id
	untold    sync.Mutex
}

// Sandbox is the embedded service that a session uses.
type Sandbox struct {
	Path    string // of its file, absolute
	Created bool   // the file was missing, and was made when the provider was configured
}

// New returns the session of a configured provider, or with nil that of a
// provider whose configuration depends on values known only after apply.
func New(client *api.Client) *Session {
	s := &Session{Client: client, LabelPrefix: DefaultLabelPrefix}
	if client != nil {
		s.Cards = fleet.New(client)
	}
	return s
}

// From reads the provider data that a Configure method receives. It returns nil
// while Terraform only validates.
func From(data any, diags *diag.Diagnostics) *Session {
	s, ok := data.(*Session)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data",
			fmt.Sprintf("The provider handed over %T. This is a bug in the provider; please report it.", data))
	}
	return s
}

// Known reports whether calls can be made.
func (s *Session) Known() bool { return s != nil && s.Client != nil }

// Require adds an error and returns false when calls cannot be made yet.
// Purpose completes "to …", as in "read the BIN catalogue".
func (s *Session) Require(diags *diag.Diagnostics, purpose string) bool {
	if s.Known() {
		return true
	}
	diags.AddError("The provider's configuration is not known yet",
		"The vcard provider needs its api_key and base_url, or its sandbox, to "+purpose+
			", but they depend on values that are known only after apply. "+
			"Apply what they depend on first, for example with -target.")
	return false
}

// Met notes that a card is in the state.
func (s *Session) Met(id string) { s.met.Store(id, true) }

// Told returns how often this was told before: what is true of many cards is told in full once.
func (s *Session) Told(what string) (before int) {
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	if s.plan.told == nil {
		s.plan.told = map[string]int{}
	}
	before = s.plan.told[what]
	s.plan.told[what]++
	return before
}

// Bins returns the BIN catalogue, asked once per session.
func (s *Session) Bins(ctx context.Context) ([]api.Bin, error) {
	return s.bins.get(ctx, s.Client.Bins)
}

// fetchedOnce is a value that is fetched when it is first needed. Callers that
// come meanwhile wait for the same value, errors included; after an error the
// next one fetches again.
type fetchedOnce[T any] struct {
	fetching singleflight.Group
	value    atomic.Pointer[T]
}

// get waits no longer than ctx allows. When the caller that fetches was
// interrupted, another that still waits fetches in its place.
func (f *fetchedOnce[T]) get(ctx context.Context, fetch func(context.Context) (T, error)) (T, error) {
	for {
		if known := f.value.Load(); known != nil {
			return *known, nil
		}
		fetched := f.fetching.DoChan("", func() (_ any, err error) {
			defer crash.Catch(&err)
			value, err := fetch(ctx)
			if err == nil {
				f.value.Store(&value)
			}
			return value, err
		})
		select {
		case result := <-fetched:
			if errors.Is(result.Err, context.Canceled) && ctx.Err() == nil {
				continue
			}
			value, _ := result.Val.(T)
			return value, result.Err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}
