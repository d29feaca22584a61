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
	"github.com/hashicorp/terraform-plugin-framework/path"
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
	s := &Session{Client: client, LabelPrefix: DefaultLabelPrefix, plan: plan{told: map[string]int{}}}
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
	before = s.plan.told[what]
	s.plan.told[what]++
	return before
}

// Bins returns the BIN catalogue, asked once per session.
func (s *Session) Bins(ctx context.Context) ([]api.Bin, error) {
	return s.bins.get(ctx, s.Client.Bins)
}

// fetchedOnce is a value that is fetched when it is first needed. Callers that come meanwhile
// wait for the same value, errors included; after an error the next one fetches again.
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

// plan is what the parts of a plan have to do with each other.
type plan struct {
	unplanned atomic.Int64 // configurations that were validated and not planned since

	mu   sync.Mutex
	told map[string]int // how often a thing was told, by what it is
	held diag.Diagnostics
}

// IsPlanning reports that calls can be made and none has changed anything yet.
func (s *Session) IsPlanning() bool { return s.Known() && !s.Client.HasWritten() }

// Validated notes that core has validated a configuration of a resource.
func (s *Session) Validated() { s.plan.unplanned.Add(1) }

// Planned notes that core plans a configuration of a resource.
func (s *Session) Planned() { s.plan.unplanned.Add(-1) }

// OfOnePlan returns diagnostics that are true of one plan alone, with those that it was given
// before and held back. Core validates each configuration just before it plans it; terraform
// test, which keeps one provider for the plans and applies of all its runs, validates besides:
// while others are about to be planned, what is told may not be of one plan.
func (s *Session) OfOnePlan(diags ...diag.Diagnostic) diag.Diagnostics {
	if !s.IsPlanning() {
		return nil
	}
	s.plan.mu.Lock()
	defer s.plan.mu.Unlock()
	s.plan.held = append(s.plan.held, diags...)
	if s.plan.unplanned.Load() > 0 {
		return nil
	}
	diags, s.plan.held = s.plan.held, nil
	return diags
}

// AddNewCard notes a card that this plan issues, and warns where several new cards have
// one label, which is "" where it is not configured or not known yet.
func (s *Session) AddNewCard(label string) diag.Diagnostics {
	if !s.IsPlanning() {
		return nil
	}
	var diags diag.Diagnostics
	if label != "" && s.Told("a new card labelled "+label) == 1 {
		diags.AddWarning(fmt.Sprintf("Several new cards are labelled %q", label),
			"If the response to the creation of one of them is lost, it cannot be told from the others by its label. Give each card a label of its own, or leave label out.")
	}
	return s.OfOnePlan(diags...)
}

// LoadDiagnostic refuses an attribute that gives one card more USD than the provider
// configuration allows.
func (s *Session) LoadDiagnostic(at path.Path, load usd.Amount) diag.Diagnostics {
	if s == nil || s.MaxCardLoad == nil || load <= *s.MaxCardLoad {
		return nil
	}
	advice, meant := "", load/100
	if load%usd.Dollar == 0 && meant <= *s.MaxCardLoad && (meant >= api.MinimumLoad || !at.Equal(path.Root("amount"))) {
		advice = fmt.Sprintf(" If %s was meant in cents, write %s: amounts are in USD.", load, meant)
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "More than one card may be given",
		fmt.Sprintf("%s must be at most %s USD, which is max_card_load in the provider configuration, got %s.%s Where so much is wanted, raise max_card_load.",
			at, *s.MaxCardLoad, load, advice))}
}
