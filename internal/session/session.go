// Package session contains what the resources, data sources and other parts of one provider configuration share.
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
	"github.com/vcard/terraform-provider-vcard/internal/labels"
	"github.com/vcard/terraform-provider-vcard/internal/transfer"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Session is the client of one provider configuration, with the data that its calls share. It is safe for concurrent
// use.
type Session struct {
	Client  *api.Client     // nil while the provider's configuration is not known yet
	Mover   *transfer.Mover // nil like Client
	Cards   *fleet.Fleet    // nil like Client
	Sandbox *Sandbox        // the embedded sandbox; nil for any other service

	MaxCardLoad     *usd.Amount // the highest load of one card, in USD; nil for no limit
	MaxTakenPerPlan *usd.Amount // the most that a plan may take from the wallet, in USD; nil for no limit
	LabelPrefix     string      // of generated labels
	WalletCheck     WalletCheck

	bins   fetchedOnce[[]api.Bin]
	newest fetchedOnce[NewestCards]
	wallet fetchedOnce[walletBalances]

	totalsLock sync.Mutex // guards totals
	totals     planTotals // of the cards that were counted

	reported       sync.Map     // the keys are of type report
	failedUpdates  sync.Map     // the keys are ids of cards whose last update has not succeeded
	errorLock      sync.Mutex   // held while ErrorOnce makes a diagnostic
	protectedCount atomic.Int64 // how many protected cards the plan would terminate
}

// Sandbox is the embedded service that a session uses.
type Sandbox struct {
	Path    string // the absolute path of its file
	Created bool   // whether configuring the provider created the file
}

// New returns a session with a client. If the client is nil, the session is not configured.
func New(client *api.Client) *Session {
	s := &Session{Client: client, LabelPrefix: labels.DefaultPrefix}
	if client != nil {
		s.Mover = transfer.New(client)
		s.Cards = fleet.New(client)
	}
	return s
}

// From returns the session in the provider data that a Configure method receives. It returns nil if there is none, for
// example because Terraform validates before the provider is configured. For data of another type, it also adds an
// error.
func From(data any, diags *diag.Diagnostics) *Session {
	s, ok := data.(*Session)
	if !ok && data != nil {
		diags.AddError("Unexpected provider data",
			fmt.Sprintf("The provider data has the type %T. This is a bug in the provider; please report it.", data))
	}
	return s
}

// IsConfigured reports whether the provider's configuration is known, so that calls can be made. A nil session is not
// configured.
func (s *Session) IsConfigured() bool { return s != nil && s.Client != nil }

// Require reports whether calls can be made, and adds an error if not. The purpose completes "cannot …", as in "read the
// BIN catalogue".
func (s *Session) Require(diags *diag.Diagnostics, purpose string) bool {
	if s.IsConfigured() {
		return true
	}
	diags.AddError("Provider configuration is not known yet",
		"The vcard provider cannot "+purpose+", because its configuration depends on values that are known only after apply. "+
			"First apply the resources that it depends on, for example with -target.")
	return false
}

// Topic is a subject whose first occurrence FirstTime detects.
type Topic int

// The topics. If a topic has several reports, the key of FirstTime says which one it is.
const (
	TopicFailure       Topic = iota // a call failed
	TopicUnknownCard                // the service does not know a card of the state
	TopicRead                       // a card was read; the key is its id
	TopicPlanUnchecked              // the provider's configuration is not known
	TopicMaxTaken                   // max_taken_per_plan was exceeded
	TopicUnpayable                  // the wallet check refused the plan
	TopicWalletShort                // the wallet check warned
	TopicProtected                  // the plan would terminate a protected card; the key is the reason
	TopicNewLabel                   // a new card is planned; the key is its label
	TopicSharedLabel                // several new cards share a label, which is the key
	TopicLabelsNotRead              // the labels of live cards could not be read
	TopicLabelsPartial              // new labels were not compared with all cards
	TopicGenerated                  // there are cards with recently generated labels
)

type report struct {
	topic Topic
	key   string
}

// FirstTime reports whether this is the first call with this topic and key in this session.
func (s *Session) FirstTime(topic Topic, key string) bool {
	_, reported := s.reported.LoadOrStore(report{topic, key}, true)
	return !reported
}

// CountProtected counts a protected card that the plan would terminate, and returns how many there are so far.
func (s *Session) CountProtected() int64 { return s.protectedCount.Add(1) }

// BeginUpdate notes that an update of a card has started. It counts as failed until EndUpdate notes a success.
func (s *Session) BeginUpdate(cardID string) { s.failedUpdates.Store(cardID, true) }

// EndUpdate notes whether an update of a card succeeded.
func (s *Session) EndUpdate(cardID string, succeeded bool) {
	if succeeded {
		s.failedUpdates.Delete(cardID)
	} else { // another update of the card may have succeeded in the meantime
		s.failedUpdates.Store(cardID, true)
	}
}

// LastUpdateFailed reports whether the last noted update of a card has failed or is still running.
func (s *Session) LastUpdateFailed(cardID string) bool {
	_, failed := s.failedUpdates.Load(cardID)
	return failed
}

// IsPlanning reports whether calls can be made and no change has begun yet.
func (s *Session) IsPlanning() bool { return s.IsConfigured() && !s.Client.HasWritten() }

// Bins returns the BIN catalogue. The session keeps a catalogue that was fetched.
func (s *Session) Bins(ctx context.Context) ([]api.Bin, error) {
	return s.bins.get(ctx, s.Client.Bins)
}

// fetchedOnce is a value that is fetched when it is needed and then kept. Concurrent callers share a fetch. After an
// error, the next caller fetches again.
type fetchedOnce[T any] struct {
	fetching singleflight.Group
	value    atomic.Pointer[T]
}

// get returns the value. It stops waiting when ctx ends. If the caller that fetches is interrupted, a caller that
// still waits fetches instead.
func (f *fetchedOnce[T]) get(ctx context.Context, fetch func(context.Context) (T, error)) (T, error) {
	for {
		if known := f.value.Load(); known != nil {
			return *known, nil
		}
		const onlyKey = "" // this group fetches a single value
		results := f.fetching.DoChan(onlyKey, func() (_ any, err error) {
			defer crash.Catch(&err) // the callers get the error; without this, DoChan ends the program
			known := f.value.Load() // again, because an earlier fetch may have ended since
			if known != nil {
				return *known, nil
			}
			value, err := fetch(ctx)
			if err == nil {
				f.value.Store(&value)
			}
			return value, err
		})
		select {
		case result := <-results:
			if errors.Is(result.Err, context.Canceled) && ctx.Err() == nil {
				continue // the caller that fetched was interrupted, and this one was not
			}
			value, _ := result.Val.(T) // the zero T if fetch has panicked
			return value, result.Err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// LoadDiagnostic returns an error if an attribute gives one card more USD than max_card_load allows, and nil
// otherwise.
func (s *Session) LoadDiagnostic(at path.Path, load usd.Amount) diag.Diagnostics {
	if s == nil || s.MaxCardLoad == nil {
		return nil
	}
	maximum := *s.MaxCardLoad
	if load <= maximum {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "Amount exceeds max_card_load",
		fmt.Sprintf("%s must be at most %s USD, the max_card_load of the provider configuration. The configured value is %s USD.%s To allow the configured value, raise max_card_load.",
			at, maximum, load, centsAdvice(at, load, maximum)))}
}

// centsAdvice returns advice for an amount that may have been written in cents, and "" for any other. Such an amount is a
// whole number, and a hundredth of it is at most the maximum. For the attribute amount, a hundredth of it must also be
// enough for an initial load.
func centsAdvice(at path.Path, load, maximum usd.Amount) string {
	if load%usd.Dollar != 0 {
		return ""
	}
	fromCents := load / 100
	isTooLow := at.Equal(path.Root("amount")) && fromCents < api.MinimumLoad
	if isTooLow || fromCents > maximum {
		return ""
	}
	return fmt.Sprintf(" If you meant %d cents, write %s: amounts are in USD.", load/usd.Dollar, fromCents)
}
