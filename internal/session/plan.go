package session

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

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
