package card_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// object is what a configuration says.
type object = acctest.Object

// live is one vcard_card under a provider in this process.
type live struct {
	t       *testing.T
	s       *acctest.Service
	card    acctest.Instance
	account object // the provider block, nil for the service's own
}

func newLive(t *testing.T) *live {
	t.Helper()
	return &live{t: t, s: acctest.Start(t), card: acctest.Instance{Type: "vcard_card"}}
}

// issued returns a card that was applied with this configuration.
func issued(t *testing.T, config object) *live {
	t.Helper()
	l := newLive(t)
	l.apply(config)
	return l
}

// imported returns a card that was issued by others and imported.
func imported(t *testing.T, body map[string]any) *live {
	t.Helper()
	l := newLive(t)
	card, diags := l.protocol().Import("vcard_card", issue(l.s, body).ID, nil)
	l.succeed(diags)
	l.card = card
	return l
}

// protocol is a provider process of its own, as each command of Terraform has.
func (l *live) protocol() *acctest.Protocol { return l.s.Protocol(l.account) }

func (l *live) succeed(diags acctest.Diagnostics) {
	l.t.Helper()
	if text := diags.Errors(); text != "" {
		l.t.Fatal(text)
	}
}

// plan fills in the BIN where the configuration leaves it out.
func (l *live) plan(config object) (acctest.Change, acctest.Diagnostics) {
	l.t.Helper()
	return l.protocol().Plan(l.card, complete(config))
}

func complete(config object) object {
	if config == nil {
		return nil
	}
	full := object{"bin_id": bin}
	maps.Copy(full, config)
	return full
}

// apply plans, plans again in another process as Terraform does, checks that
// both plans agree, applies, and checks that nothing is left to do.
func (l *live) apply(config object) acctest.Diagnostics {
	l.t.Helper()
	first, warnings := l.plan(config)
	l.succeed(warnings)
	p := l.protocol()
	second, diags := p.Plan(l.card, complete(config))
	l.succeed(diags)
	l.same("the plan made during apply", first.Planned, second.Planned)
	now, diags := p.Apply(second, nil)
	l.succeed(diags)
	for name, value := range second.Planned {
		if value != acctest.Unknown {
			l.same("what apply answers for "+name, object{name: value}, object{name: now.Values[name]})
		}
	}
	l.card = now
	if config != nil {
		l.refresh()
		l.unchanged(config)
	}
	return warnings
}

func (l *live) refresh() acctest.Diagnostics {
	l.t.Helper()
	now, diags := l.protocol().Refresh(l.card)
	l.succeed(diags)
	l.card = now
	return diags
}

// unchanged checks that a plan of this configuration does nothing.
func (l *live) unchanged(config object) {
	l.t.Helper()
	again, diags := l.plan(config)
	l.succeed(diags)
	if len(again.Replaces) > 0 {
		l.t.Fatalf("a second plan replaces the card for %v", again.Replaces)
	}
	l.same("a second plan", l.card.Values, again.Planned)
}

func (l *live) same(what string, want, got object) {
	l.t.Helper()
	for name := range want {
		if a, b := plain(want[name]), plain(got[name]); a != b {
			l.t.Errorf("%s: %s is %s, want %s", what, name, b, a)
		}
	}
}

// plain makes values comparable.
func plain(value any) string {
	switch v := value.(type) {
	case object:
		var lines []string
		for _, name := range sortedKeys(v) {
			lines = append(lines, name+"="+plain(v[name]))
		}
		return "{" + strings.Join(lines, " ") + "}"
	case []any:
		var lines []string
		for _, one := range v {
			lines = append(lines, plain(one))
		}
		return "[" + strings.Join(lines, " ") + "]"
	case nil:
		return "null"
	case acctest.Number:
		return string(v)
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	}
	if value == acctest.Unknown {
		return "unknown"
	}
	return "?"
}

// failsToPlan checks that the plan is refused in words that hold all of these.
func (l *live) failsToPlan(config object, words ...string) {
	l.t.Helper()
	wallet := l.s.Wallet()
	_, diags := l.plan(config)
	l.says("the error", diags.Errors(), words...)
	if now := l.s.Wallet(); now != wallet {
		l.t.Errorf("the wallet went from %s to %s USD in a refused plan", wallet, now)
	}
}

// says checks that a text holds every one of these, or is empty when there are none.
func (l *live) says(what, text string, words ...string) {
	l.t.Helper()
	if len(words) == 0 && text != "" {
		l.t.Errorf("%s should not be there: %s", what, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			l.t.Errorf("%s lacks %q: %s", what, word, text)
		}
	}
}

func (l *live) id() string {
	id, _ := l.card.Values["id"].(string)
	return id
}

// service asks the service about the card.
func (l *live) service() service {
	var now service
	l.s.Get("/cards/" + l.id()).Into(&now)
	return now
}

// holds checks the card at the service, and the wallet.
func (l *live) holds(status string, balance, wallet usd.Amount) {
	l.t.Helper()
	if now := l.service(); now.Status != status || now.Balance != balance {
		l.t.Errorf("the card is %s with %s USD, want %s with %s", now.Status, now.Balance, status, balance)
	}
	if now := l.s.Wallet(); now != wallet {
		l.t.Errorf("the wallet holds %s USD, want %s", now, wallet)
	}
}

// spend takes money from the card as a merchant does.
func (l *live) spend(amount usd.Amount) {
	l.t.Helper()
	l.s.Post("/cards/"+l.id()+"/withdraw", map[string]usd.Amount{"amount": amount}).Must()
}
