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

// Path is the path of the call.
const Path = server.Control + "/seed"

// Routes returns the control call that seeds a sandbox.
func Routes() []server.Route {
	return []server.Route{{Method: http.MethodPost, Path: Path, Handle: begin}}
}

// Begun is the response: the ids and secrets of what was created.
type Begun struct {
	Accounts []*BegunAccount `json:"accounts"`
}

// BegunAccount is an account of the world, with its cards and webhooks in the order of the document.
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

// step is something that happens in the world.
type step struct {
	at   time.Time
	rank rank
	do   func() error
}

// rank orders steps at the same time: money arrives before it leaves. Steps with the rank lasting
// come after all others, whatever their times.
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

// maxSteps is the maximum number of steps of a world: all other calls wait while they are made.
const maxSteps = 50_000

// builder builds a world. It first plans all steps and checks their times, then sorts them by time,
// and then makes each by its call.
type builder struct {
	*world

	call     *server.Call
	now      time.Time
	earliest time.Time // the time of the first step
	steps    []step
	err      error // the first one
	begun    Begun
}

const randomSetting = "random_seed"

func begin(c *server.Call) (wire.Response, error) {
	err := control.FirstOnly(c, "seed the sandbox")
	if err != nil {
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
	err = refuseUsed(c)
	if err != nil {
		return wire.Response{}, err
	}
	c.Quirks = behavior.DefaultQuirks()
	b := &builder{world: world, call: c, begun: Begun{Accounts: []*BegunAccount{}}}
	err = b.build()
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(b.begun), nil
}

func refuseUsed(c *server.Call) error {
	used, err := store.Value[bool](c.Tx, `
		SELECT (SELECT COUNT(*) FROM accounts) > 1 OR (SELECT COUNT(*) FROM ledger_entries) > 1
			OR EXISTS (SELECT 1 FROM webhooks) OR EXISTS (SELECT 1 FROM deposits)
			OR EXISTS (SELECT 1 FROM settings WHERE name = ?)`, randomSetting)
	if err != nil {
		return err
	}
	if used {
		return wire.Invalid("the sandbox is already in use; seed a new file, or reset this one first")
	}
	return nil
}

func (b *builder) build() error {
	tx := b.call.Tx
	b.now = b.Clock.Time
	if b.now.IsZero() {
		b.now = tx.Now()
	}
	b.earliest = b.now
	each("accounts", b.Accounts, b.account)
	b.setBehavior()
	if len(b.steps) > maxSteps {
		b.refuse("", "the world has %d cards, purchases and other events; at most %d are allowed", len(b.steps), maxSteps)
	}
	if b.err != nil {
		return b.err
	}
	tx.SetRandom(b.RandomSeed)
	err := tx.WriteSetting(randomSetting, b.RandomSeed)
	if err != nil {
		return err
	}
	err = tx.MoveClock(b.now)
	if err != nil {
		return err
	}
	slices.SortStableFunc(b.steps, compareSteps)
	for _, s := range b.steps {
		tx.SetNow(s.at)
		err := s.do()
		if err != nil {
			return err
		}
	}
	tx.SetNow(b.now)
	return nil
}

func compareSteps(a, b step) int {
	if a.rank == lasting && b.rank != lasting {
		return 1
	}
	if a.rank != lasting && b.rank == lasting {
		return -1
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.rank, b.rank))
}

// setBehavior plans the faults, limits and quirks, which are set at the end, so that they do not affect the other steps.
func (b *builder) setBehavior() {
	each("faults", b.Faults, func(place string, fault *value) {
		b.set(place, "POST "+server.Control+"/faults", *fault)
	})
	b.set("limits", "PUT "+server.Control+"/limits", b.Limits)
	b.set("quirks", "PUT "+server.Control+"/quirks", b.Quirks)
}

// set plans a call of the first account, unless the body is empty.
func (b *builder) set(place, route string, body value) {
	if len(body) == 0 {
		return
	}
	first := &accountBuilder{builder: b, Account: b.call.Account}
	b.plan(b.now, lasting, func() error { return first.do(place, route, "", body, nil) })
}

// each calls build with each element of a list and its place.
func each[T any](list string, specs []T, build func(place string, spec *T)) {
	for i := range specs {
		build(fmt.Sprintf("%s[%d]", list, i), &specs[i])
	}
}

// at adds the place in the document to the refusal of a call.
func (b *builder) at(place string, err error) error {
	refused, ok := errors.AsType[*wire.Error](err)
	if ok {
		return b.invalid(place, "%s", refused.Message)
	}
	return err
}

// refuse keeps an error at a place, unless there was an error before.
func (b *builder) refuse(place, format string, args ...any) {
	if b.err == nil {
		b.err = b.invalid(place, format, args...)
	}
}

// oneOf refuses a value that is neither empty nor one of the valid values.
func (b *builder) oneOf(place, name, value string, valid ...string) {
	if value != "" && !slices.Contains(valid, value) {
		b.refuse(place, "%s must be one of %s", name, strings.Join(valid, ", "))
	}
}

// happen plans a step at the given time, and returns its time. Without one, the step happens right after what it
// follows, or now if it follows nothing.
func (b *builder) happen(place string, given instant, rank rank, follows time.Time, do func() error) time.Time {
	at := given.Time
	if at.IsZero() {
		at = follows
	}
	if at.IsZero() {
		at = b.now
	}
	if at.After(b.now) {
		b.refuse(place, "at must not be later than the world's clock, %s", wire.Timestamp(b.now))
	} else if at.Before(follows) {
		b.refuse(place, "at must not be earlier than the event it follows, %s", wire.Timestamp(follows))
	}
	if at.Before(b.earliest) {
		b.earliest = at
	}
	b.plan(at, rank, do)
	return at
}

func (b *builder) plan(at time.Time, rank rank, do func() error) {
	b.steps = append(b.steps, step{at, rank, do})
}

// accountBuilder builds an account of the world. Account is the first account until open has created its own.
type accountBuilder struct {
	*builder
	account.Account

	begun *BegunAccount
}

func (b *builder) account(place string, spec *accountSpec) {
	first := len(b.begun.Accounts) == 0
	a := &accountBuilder{
		builder: b,
		Account: b.call.Account,
		begun:   &BegunAccount{Cards: []*named{}, Webhooks: []json.RawMessage{}},
	}
	b.begun.Accounts = append(b.begun.Accounts, a.begun)
	b.oneOf(place, "state", spec.State, account.States()...)
	each(place+".deposits", spec.Deposits, a.deposit)
	each(place+".cards", spec.Cards, a.card)
	each(place+".webhooks", spec.Webhooks, a.endpoint)
	b.plan(time.Time{}, opening, func() error { return a.open(place, spec.Wallet, first) })
	if spec.State != "" {
		b.plan(b.now, lasting, func() error {
			return b.call.Tx.Exec(`UPDATE accounts SET state = ? WHERE id = ?`, spec.State, a.ID)
		})
	}
}

// do makes a call for the account and decodes its response. The id fills the parameter in the route's path, if it has one.
// If the call is refused, the error names the place in the document.
func (a *accountBuilder) do(place, route, id string, body, into any) error {
	o := server.Operation{Route: route}
	if body != nil {
		o.Body = wire.Encode(body)
	}
	_, rest, found := strings.Cut(route, "{")
	if found {
		name, _, _ := strings.Cut(rest, "}")
		o.Path = map[string]string{name: id}
	}
	return a.at(place, a.call.Do(a.Account, o, into))
}

// open creates the account. The sandbox has the first account already; it only gets the wallet's balance.
func (a *accountBuilder) open(place string, wallet value, first bool) error {
	tx := a.call.Tx
	tx.SetNow(a.earliest)
	if first {
		return a.openFirst(place, wallet)
	}
	fields := map[string]any{"state": account.Ready, "initial_balance": wallet}
	err := a.do(place, "POST "+server.Control+"/accounts", "", fields, a.begun)
	if err != nil {
		return err
	}
	a.Account, err = account.ByKey(tx, a.begun.APIKey)
	return err
}

func (a *accountBuilder) openFirst(place string, wallet value) error {
	tx := a.call.Tx
	key, err := account.Key(tx, a.call.Keys, a.PublicID)
	if err != nil {
		return err
	}
	a.begun.AccountID = a.PublicID
	a.begun.APIKey = key
	if len(wallet) > 0 {
		body := wire.Body{Raw: wire.Encode(map[string]any{"wallet": wallet})}
		fields := body.Fields("application/json")
		balance := fields.OptionalNotNegative("wallet")
		err := fields.Done()
		if err != nil {
			return a.at(place, err)
		}
		err = tx.Exec(`UPDATE service SET initial_balance = ?`, balance)
		if err != nil {
			return err
		}
	}
	return account.ResetFirst(tx)
}

func (a *accountBuilder) deposit(place string, d *depositSpec) {
	a.oneOf(place, "status", d.Status, "pending", "confirmed")
	a.happen(place, d.At, arrival, time.Time{}, func() error {
		var created named
		err := a.do(place, "POST "+server.Control+"/deposits", "", d, &created)
		if err != nil || d.Status != "confirmed" {
			return err
		}
		return a.do(place, "POST "+server.Control+"/deposits/{id}/confirm", created.ID, nil, nil)
	})
}

// endpoint registers a webhook at the end, so that it receives only events that happen after the seed.
func (a *accountBuilder) endpoint(place string, e *endpointSpec) {
	a.happen(place, e.At, lasting, time.Time{}, func() error {
		var created json.RawMessage
		err := a.do(place, "POST "+server.API+"/webhooks", "", e, &created)
		a.begun.Webhooks = append(a.begun.Webhooks, created)
		return err
	})
}

// cardBuilder builds a card of the world.
type cardBuilder struct {
	*accountBuilder
	named

	issued time.Time
	status string // the final status; "": the one that results from the events
	final  bool   // the card has its final status
}

func (a *accountBuilder) card(place string, spec *cardSpec) {
	c := &cardBuilder{accountBuilder: a, status: spec.Status}
	a.oneOf(place, "status", spec.Status, "active", "frozen", "terminated")
	c.issued = a.happen(place, spec.At, issue, time.Time{}, func() error {
		a.begun.Cards = append(a.begun.Cards, &c.named)
		return a.do(place, "POST "+server.API+"/cards", "", spec, &c.named)
	})
	each(place+".movements", spec.Movements, c.movement)
	each(place+".purchases", spec.Purchases, c.purchase)
	each(place+".challenges", spec.Challenges, c.challenge)
	follows := c.issued
	if spec.StatusAt.IsZero() { // the status changes after everything else
		follows = a.now
	}
	a.happen(place+".status_at", spec.StatusAt, ending, follows, func() error { return c.setStatus(place) })
}

func (c *cardBuilder) movement(place string, m *movementSpec) {
	call := "fund"
	rank := issue
	positive, negative := strings.CutPrefix(string(m.Amount), "-")
	if negative {
		call = "withdraw"
		rank = departure
		m.Amount = value(positive)
	}
	c.happen(place, m.At, rank, c.issued, func() error {
		return c.do(place, "POST "+server.API+"/cards/{card_id}/"+call, c.ID, m, nil)
	})
}

// recorded is the response to an authorization, a settlement or a refund.
type recorded struct {
	Transaction   named  `json:"transaction"`
	DeclineReason string `json:"decline_reason"`
}

// purchase plans an authorization with its settlement and refunds, or a decline.
func (c *cardBuilder) purchase(place string, p *purchaseSpec) {
	c.oneOf(place, "declined", p.Declined,
		"card_frozen", "card_terminated", "insufficient_funds", "category_not_allowed", "spending_limit_exceeded")
	if p.Declined != "" && p.Settled != nil {
		c.refuse(place, "a declined purchase cannot be settled; remove declined or settled")
	} else if p.Settled == nil && len(p.Refunds) > 0 {
		c.refuse(place, "refunds require settled")
	}
	authorized := new(recorded)
	at := c.happen(place, p.At, purchase, c.issued, func() error {
		p.CardID = c.ID
		err := c.authorize(place, p, authorized)
		if err != nil {
			return err
		}
		if authorized.DeclineReason != p.Declined {
			return c.invalid(place, "the purchase should be %s, but with the card's earlier events it is %s",
				outcome(p.Declined), outcome(authorized.DeclineReason))
		}
		return nil
	})
	if p.Settled == nil {
		return
	}
	settled := new(recorded)
	at = c.happen(place+".settled", p.Settled.At, settlement, at, func() error {
		p.Settled.TransactionID = authorized.Transaction.ID
		return c.do(place+".settled", "POST "+server.Control+"/settlements", "", p.Settled, settled)
	})
	each(place+".refunds", p.Refunds, func(place string, f *followUpSpec) {
		c.happen(place, f.At, refund, at, func() error {
			f.TransactionID = settled.Transaction.ID
			return c.do(place, "POST "+server.Control+"/refunds", "", f, nil)
		})
	})
}

func outcome(declineReason string) string {
	if declineReason == "" {
		return "approved"
	}
	return "declined with " + declineReason
}

func (c *cardBuilder) challenge(place string, s *challengeSpec) {
	const path = "POST " + server.Control + "/3ds-challenges"
	c.oneOf(place, "status", s.Status, "approved", "failed")
	c.happen(place, s.At, challenge, c.issued, func() error {
		var created named
		s.CardID = c.ID
		err := c.do(place, path, "", s, &created)
		if err != nil || s.Status == "" {
			return err
		}
		return c.do(place, path+"/{id}/complete", created.ID, map[string]string{"outcome": s.Status}, nil)
	})
}

// authorize authorizes a purchase. Until the card has its final status, it is made active for the purchase, or frozen if
// the purchase should be declined for that.
func (c *cardBuilder) authorize(place string, p *purchaseSpec, result *recorded) error {
	const route = "POST " + server.Control + "/authorizations"
	const change = `UPDATE cards SET status = ? WHERE public_id = ? AND status = ?`
	if c.final {
		return c.do(place, route, "", p, result)
	}
	if p.Declined != "card_frozen" {
		if c.status != "" {
			err := c.call.Tx.Exec(change, "active", c.ID, "frozen")
			if err != nil {
				return err
			}
		}
		return c.do(place, route, "", p, result)
	}
	err := c.call.Tx.Exec(change, "frozen", c.ID, "active")
	if err != nil {
		return err
	}
	err = c.do(place, route, "", p, result)
	if err != nil {
		return err
	}
	return c.call.Tx.Exec(change, "active", c.ID, "frozen")
}

// setStatus gives the card its final status.
func (c *cardBuilder) setStatus(place string) error {
	const card = server.API + "/cards/{card_id}"
	if c.status == "" {
		return nil
	}
	c.final = true
	route := ""
	switch c.status {
	case "active":
		route = "POST " + card + "/unfreeze"
	case "frozen":
		route = "POST " + card + "/freeze"
	case "terminated":
		route = "DELETE " + card
	}
	return c.do(place, route, c.ID, nil, nil)
}
