package seed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Path is where a world is sent to.
const Path = server.Control + "/seed"

// Routes is the call.
func Routes() []server.Route {
	return []server.Route{{Method: http.MethodPost, Path: Path, Handle: begin}}
}

// Begun is the response: what a caller cannot know from the file.
type Begun struct {
	Accounts []*BegunAccount `json:"accounts"`
}

// BegunAccount is an account of a world, with its cards and endpoints in the file's order.
type BegunAccount struct {
	AccountID string            `json:"account_id"`
	APIKey    string            `json:"api_key"`
	Cards     []*named          `json:"cards"`
	Webhooks  []json.RawMessage `json:"webhooks"` // with their secrets
}

type named struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

type step struct {
	at   time.Time
	rank rank
	do   func() error
}

// rank orders what happened at one moment: money comes before it goes. What stays as
// it is comes after all.
type rank int

const (
	opening rank = iota
	arrival
	issue
	purchase
	settlement
	refund
	challenge
	departure
	ending
	lasting
)

// maxSteps is how much may have happened in a world: everybody waits while it is made.
const maxSteps = 50_000

// builder makes a world by the calls that would have made it.
type builder struct {
	*world

	call    *server.Call
	now     time.Time
	opening time.Time // the earliest of all
	steps   []step
	mistake error // the first one
	begun   Begun
}

const randomSetting = "random_seed"

func begin(c *server.Call) (wire.Response, error) {
	if err := control.FirstOnly(c, "seeds it"); err != nil {
		return wire.Response{}, err
	}
	text, err := c.Text()
	if err != nil {
		return wire.Response{}, err
	}
	world, err := read(text)
	if err != nil {
		return wire.Response{}, err
	}
	if err := refuseUsed(c); err != nil {
		return wire.Response{}, err
	}
	c.Quirks = behavior.DefaultQuirks()
	b := &builder{world: world, call: c, begun: Begun{Accounts: []*BegunAccount{}}}
	if err := b.build(); err != nil {
		return wire.Response{}, err
	}
	return wire.Created(b.begun), nil
}

func refuseUsed(c *server.Call) error {
	used, err := store.Value[bool](c.Tx, `SELECT (SELECT COUNT(*) FROM accounts) > 1 OR (SELECT COUNT(*) FROM ledger_entries) > 1
		OR EXISTS (SELECT 1 FROM webhooks) OR EXISTS (SELECT 1 FROM deposits) OR EXISTS (SELECT 1 FROM settings WHERE name = ?)`, randomSetting)
	if err == nil && used {
		return wire.Invalid("the sandbox is in use already; seed a new file, or reset this one first")
	}
	return err
}

func (b *builder) build() error {
	tx := b.call.Tx
	if b.now = b.Clock.Time; b.now.IsZero() {
		b.now = tx.Now()
	}
	b.opening = b.now
	each("accounts", b.Accounts, b.account)
	b.behave()
	if len(b.steps) > maxSteps {
		b.refuse("", "%d things happen in it; at most %d may", len(b.steps), maxSteps)
	}
	if b.mistake != nil {
		return b.mistake
	}
	tx.SetRandom(b.RandomSeed)
	if err := tx.WriteSetting(randomSetting, b.RandomSeed); err != nil {
		return err
	}
	if err := tx.MoveClock(b.now); err != nil {
		return err
	}
	slices.SortStableFunc(b.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.rank/lasting, b.rank/lasting), a.at.Compare(b.at), cmp.Compare(a.rank, b.rank))
	})
	for _, s := range b.steps {
		tx.SetNow(s.at)
		if err := s.do(); err != nil {
			return err
		}
	}
	tx.SetNow(b.now)
	return nil
}

// behave sets how the service behaves, which has to wait until the world is there.
func (b *builder) behave() {
	first := &accountBuilder{builder: b, Account: b.call.Account}
	set := func(route string) func(string, *value) {
		return func(place string, body *value) {
			if len(*body) > 0 {
				b.plan(b.now, lasting, func() error { return first.do(place, route, "", body, nil) })
			}
		}
	}
	each("faults", b.Faults, set("POST "+server.Control+"/faults"))
	set("PUT "+server.Control+"/limits")("limits", &b.Limits)
	set("PUT "+server.Control+"/quirks")("quirks", &b.Quirks)
}

// each builds every element of a list at its place.
func each[T any](list string, specs []T, build func(place string, spec *T)) {
	for i := range specs {
		build(fmt.Sprintf("%s[%d]", list, i), &specs[i])
	}
}

// refuse keeps what is wrong at a place, unless there was something before.
func (b *builder) refuse(place, format string, args ...any) {
	if b.mistake == nil {
		b.mistake = b.refused(place, format, args...)
	}
}

func (b *builder) explained(place string, err error) error {
	if refused, ok := errors.AsType[*wire.Error](err); ok {
		return b.refused(place, "%s", refused.Message)
	}
	return err
}

func (b *builder) word(place, name, word string, words ...string) {
	if word != "" && !slices.Contains(words, word) {
		b.refuse(place, "%s must be one of %s", name, strings.Join(words, ", "))
	}
}

// happen has something happen at a time, which is not before that of what it belongs to.
func (b *builder) happen(place string, when instant, rank rank, since time.Time, do func() error) (at time.Time) {
	switch at = when.Time; {
	case at.IsZero() && since.IsZero():
		at = b.now
	case at.IsZero():
		at = since
	case at.After(b.now):
		b.refuse(place, "at must not be later than the world's clock, %s", wire.Timestamp(b.now))
	case at.Before(since):
		b.refuse(place, "at is before that of what it belongs to, %s", wire.Timestamp(since))
	}
	if at.Before(b.opening) {
		b.opening = at
	}
	b.plan(at, rank, do)
	return at
}

func (b *builder) plan(at time.Time, rank rank, do func() error) {
	b.steps = append(b.steps, step{at, rank, do})
}

// accountBuilder makes an account of the world; until it is there, it is the first one.
type accountBuilder struct {
	*builder
	account.Account

	begun *BegunAccount
}

func (b *builder) account(place string, spec *accountSpec) {
	first := len(b.begun.Accounts) == 0
	a := &accountBuilder{b, b.call.Account, &BegunAccount{Cards: []*named{}, Webhooks: []json.RawMessage{}}}
	b.begun.Accounts = append(b.begun.Accounts, a.begun)
	b.word(place, "state", spec.State, account.States()...)
	each(place+".deposits", spec.Deposits, a.deposit)
	each(place+".cards", spec.Cards, a.card)
	each(place+".webhooks", spec.Webhooks, a.endpoint) // the last: they are told of what is yet to happen
	b.plan(time.Time{}, opening, func() error { return a.open(place, spec.Wallet, first) })
	if spec.State != "" {
		b.plan(b.now, lasting, func() error {
			return b.call.Tx.Exec(`UPDATE accounts SET state = ? WHERE id = ?`, spec.State, a.ID)
		})
	}
}

// do makes a call for the account, in whose path an id may stand, and reads the
// response. Its refusal is one of the place.
func (a *accountBuilder) do(place, route, id string, body, into any) error {
	o := server.Operation{Route: route}
	if body != nil {
		o.Body = wire.Encode(body)
	}
	if _, rest, found := strings.Cut(route, "{"); found {
		name, _, _ := strings.Cut(rest, "}")
		o.Path = map[string]string{name: id}
	}
	return a.explained(place, a.call.Do(a.Account, o, into))
}

// open begins the account. The first one is there, and gets another balance.
func (a *accountBuilder) open(place string, wallet value, first bool) (err error) {
	tx := a.call.Tx
	tx.SetNow(a.opening)
	if !first {
		fields := map[string]any{"state": account.Ready, "initial_balance": wallet}
		if err := a.do(place, "POST "+server.Control+"/accounts", "", fields, a.begun); err != nil {
			return err
		}
		a.Account, err = account.ByKey(tx, a.begun.APIKey)
		return err
	}
	a.begun.AccountID = a.PublicID
	if a.begun.APIKey, err = account.Key(tx, a.call.Keys, a.PublicID); err != nil {
		return err
	}
	if len(wallet) > 0 {
		fields := wire.Body{Raw: wire.Encode(map[string]any{"wallet": wallet})}.Fields("application/json")
		balance := fields.OptionalNotNegative("wallet")
		if err := fields.Done(); err != nil {
			return a.explained(place, err)
		}
		if err := tx.Exec(`UPDATE service SET initial_balance = ?`, balance); err != nil {
			return err
		}
	}
	return account.ResetFirst(tx)
}

func (a *accountBuilder) deposit(place string, d *depositSpec) {
	a.word(place, "status", d.Status, "pending", "confirmed")
	a.happen(place, d.At, arrival, time.Time{}, func() error {
		var made named
		err := a.do(place, "POST "+server.Control+"/deposits", "", d, &made)
		if err == nil && d.Status == "confirmed" {
			err = a.do(place, "POST "+server.Control+"/deposits/{id}/confirm", made.ID, nil, nil)
		}
		return err
	})
}

func (a *accountBuilder) endpoint(place string, e *endpointSpec) {
	a.happen(place, e.At, lasting, time.Time{}, func() error {
		var made json.RawMessage
		err := a.do(place, "POST "+server.API+"/webhooks", "", e, &made)
		a.begun.Webhooks = append(a.begun.Webhooks, made)
		return err
	})
}

type cardBuilder struct {
	*accountBuilder
	named

	issued time.Time
	status string // in the end; "": what comes of it
	ended  bool   // has it
}

func (a *accountBuilder) card(place string, spec *cardSpec) {
	c := &cardBuilder{accountBuilder: a, status: spec.Status}
	a.word(place, "status", spec.Status, "active", "frozen", "terminated")
	c.issued = a.happen(place, spec.At, issue, time.Time{}, func() error {
		a.begun.Cards = append(a.begun.Cards, &c.named)
		return a.do(place, "POST "+server.API+"/cards", "", spec, &c.named)
	})
	each(place+".movements", spec.Movements, c.movement)
	each(place+".purchases", spec.Purchases, c.purchase)
	each(place+".challenges", spec.Challenges, c.challenge)
	ended := c.issued
	if spec.StatusAt.IsZero() { // when all else has happened
		ended = a.now
	}
	a.happen(place+".status_at", spec.StatusAt, ending, ended, func() error { return c.end(place) })
}

func (c *cardBuilder) movement(place string, m *movementSpec) {
	call, rank := "fund", issue
	if positive, negative := strings.CutPrefix(string(m.Amount), "-"); negative {
		call, rank = "withdraw", departure
		m.Amount = value(positive)
	}
	c.happen(place, m.At, rank, c.issued, func() error {
		return c.do(place, "POST "+server.API+"/cards/{card_id}/"+call, c.ID, m, nil)
	})
}

type recorded struct {
	Transaction   named  `json:"transaction"`
	DeclineReason string `json:"decline_reason"`
}

// purchase is an authorization with what followed, or a decline.
func (c *cardBuilder) purchase(place string, p *purchaseSpec) {
	c.word(place, "declined", p.Declined,
		"card_frozen", "card_terminated", "insufficient_funds", "category_not_allowed", "spending_limit_exceeded")
	switch {
	case p.Declined != "" && p.Settled != nil:
		c.refuse(place, "a declined purchase is not settled")
	case p.Settled == nil && len(p.Refunds) > 0:
		c.refuse(place, "a refund without a settlement")
	}
	var made, followed recorded
	at := c.happen(place, p.At, purchase, c.issued, func() error {
		p.CardID = c.ID
		if err := c.authorize(place, p, &made); err != nil || made.DeclineReason == p.Declined {
			return err
		}
		return c.refused(place, "the purchase contradicts the rest: it was to be %s, and is %s", outcome(p.Declined), outcome(made.DeclineReason))
	})
	if p.Settled == nil {
		return
	}
	at = c.followUp(place+".settled", p.Settled, "settlements", settlement, at, &made, &followed)
	each(place+".refunds", p.Refunds, func(place string, f *followUpSpec) {
		c.followUp(place, f, "refunds", refund, at, &followed, new(recorded))
	})
}

func outcome(declined string) string {
	if declined == "" {
		return "approved"
	}
	return "declined with " + declined
}

func (c *cardBuilder) followUp(place string, f *followUpSpec, kind string, rank rank, since time.Time, of, made *recorded) time.Time {
	return c.happen(place, f.At, rank, since, func() error {
		f.TransactionID = of.Transaction.ID
		return c.do(place, "POST "+server.Control+"/"+kind, "", f, made)
	})
}

func (c *cardBuilder) challenge(place string, s *challengeSpec) {
	const path = "POST " + server.Control + "/3ds-challenges"
	c.word(place, "status", s.Status, "approved", "failed")
	c.happen(place, s.At, challenge, c.issued, func() error {
		var made named
		s.CardID = c.ID
		err := c.do(place, path, "", s, &made)
		if err == nil && s.Status != "" {
			err = c.do(place, path+"/{id}/complete", made.ID, map[string]string{"outcome": s.Status}, nil)
		}
		return err
	})
}

// authorize uses the card, whose status follows from what is to become of each purchase.
func (c *cardBuilder) authorize(place string, p *purchaseSpec, made *recorded) error {
	call := func() error { return c.do(place, "POST "+server.Control+"/authorizations", "", p, made) }
	frozen := p.Declined == "card_frozen"
	if c.ended || c.status == "" && !frozen {
		return call()
	}
	from, to := "frozen", "active"
	if frozen {
		from, to = to, from
	}
	const change = `UPDATE cards SET status = ? WHERE public_id = ? AND status = ?`
	if err := c.call.Tx.Exec(change, to, c.ID, from); err != nil {
		return err
	}
	if err := call(); err != nil || !frozen {
		return err
	}
	return c.call.Tx.Exec(change, from, c.ID, to)
}

func (c *cardBuilder) end(place string) error {
	const card = server.API + "/cards/{card_id}"
	route, found := map[string]string{
		"active": "POST " + card + "/unfreeze", "frozen": "POST " + card + "/freeze", "terminated": "DELETE " + card,
	}[c.status]
	if c.ended = found; !found {
		return nil
	}
	return c.do(place, route, c.ID, nil, nil)
}
