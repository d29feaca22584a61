package card_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// object is what a configuration says.
type object = acctest.Object

// fixture is one vcard_card under a provider in this process.
type fixture struct {
	t       *testing.T
	s       *acctest.Service
	card    acctest.Instance
	account object // the provider block, nil for the service's own
}

func newFixture(t *testing.T, options ...contract.Option) *fixture {
	t.Helper()
	return &fixture{t: t, s: acctest.Start(t, options...), card: newCard}
}

// issued returns a card that was applied with this configuration.
func issued(t *testing.T, config object) *fixture {
	t.Helper()
	f := newFixture(t)
	f.apply(config)
	return f
}

// protocol is a provider process of its own, as each command of Terraform has.
func (f *fixture) protocol() *acctest.Protocol { return f.s.Protocol(f.account) }

// plan fills in the BIN where the configuration leaves it out.
func (f *fixture) plan(config object) (acctest.Change, acctest.Diagnostics) {
	f.t.Helper()
	return f.protocol().Plan(f.card, complete(config))
}

func complete(config object) object {
	if config == nil {
		return nil
	}
	return merged(object{"bin_id": bin}, config)
}

// merged is what these say together, the last one where several do.
func merged(all ...object) object {
	whole := object{}
	for _, one := range all {
		maps.Copy(whole, one)
	}
	return whole
}

// known is what a plan knows of its values.
func known(planned object) object {
	known := maps.Clone(planned)
	maps.DeleteFunc(known, func(_ string, value any) bool { return value == acctest.Unknown })
	return known
}

// apply plans, plans again in another process as Terraform does, checks that
// both plans agree, applies, and checks that nothing is left to do. It returns what
// plan and apply said.
func (f *fixture) apply(config object) acctest.Diagnostics {
	f.t.Helper()
	first, warnings := f.plan(config)
	warnings.Must(f.t)
	p := f.protocol()
	second, diags := p.Plan(f.card, complete(config))
	diags.Must(f.t)
	f.same("the plan made during apply", first.Planned, second.Planned)
	now, diags := p.Apply(second, nil)
	diags.Must(f.t)
	f.same("what apply returns", known(second.Planned), now.Values)
	f.card = now
	if config != nil {
		f.refresh()
		f.same("what a refresh shows after apply", now.Values, f.card.Values)
		f.unchanged(config)
	}
	return append(warnings, diags...)
}

func (f *fixture) refresh() acctest.Diagnostics {
	f.t.Helper()
	now, diags := f.protocol().Refresh(f.card)
	diags.Must(f.t)
	f.card = now
	return diags
}

// unchanged checks that a plan of this configuration does nothing.
func (f *fixture) unchanged(config object) {
	f.t.Helper()
	again, diags := f.plan(config)
	diags.Must(f.t)
	if len(again.Replaces) > 0 {
		f.t.Fatalf("a second plan replaces the card for %v", again.Replaces)
	}
	f.same("a second plan", f.card.Values, again.Planned)
}

func (f *fixture) same(what string, want, got object) {
	f.t.Helper()
	for name := range want {
		if a, b := plain(want[name]), plain(got[name]); a != b {
			f.t.Errorf("%s: %s is %s, want %s", what, name, b, a)
		}
	}
}

// plain makes values comparable.
func plain(value any) string { return strings.ReplaceAll(fmt.Sprint(value), "<nil>", "null") }

// says checks that a text holds every one of these, or is empty when there are none.
func (f *fixture) says(what, text string, words ...string) {
	f.t.Helper()
	if len(words) == 0 && text != "" {
		f.t.Errorf("%s should not be there: %s", what, text)
	}
	sandboxtest.Says(f.t, what, text, words...)
}

func (f *fixture) id() string {
	id, _ := f.card.Values["id"].(string)
	return id
}

// service asks the service about the card.
func (f *fixture) service() service { return read(f.s, f.id()).service }

// holds checks the card at the service, and the wallet.
func (f *fixture) holds(status string, balance, wallet usd.Amount) {
	f.t.Helper()
	if now := f.service(); now.Status != status || now.Balance != balance {
		f.t.Errorf("the card is %s with %s USD, want %s with %s", now.Status, now.Balance, status, balance)
	}
	if now := f.s.Wallet(); now != wallet {
		f.t.Errorf("the wallet holds %s USD, want %s", now, wallet)
	}
}

// spend takes money from the card as a merchant does.
func (f *fixture) spend(amount usd.Amount) {
	f.t.Helper()
	f.s.Post("/cards/"+f.id()+"/withdraw", map[string]usd.Amount{"amount": amount}).Must()
}

func (f *fixture) tryChange(p *acctest.Protocol, change acctest.Change) acctest.Diagnostics {
	f.t.Helper()
	now, diags := p.Apply(change, nil)
	f.card = now
	return diags
}

func fault(method, path, when string, times int, then any) object {
	return object{"method": method, "path": path, "when": when, "times": times, "then": then}
}

// down is an answer that says nothing about what happened.
var down = map[string]any{"status": 500, "body": map[string]string{"error": "down", "message": "down"}}
