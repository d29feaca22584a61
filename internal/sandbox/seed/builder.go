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

// Path is the path of the call that seeds a sandbox.
const Path = server.Control + "/seed"

// Routes returns the control call that seeds a sandbox.
func Routes() []server.Route {
	return []server.Route{{Method: http.MethodPost, Path: Path, Handle: create}}
}

// Created is the response: the accounts with their API keys, cards and webhooks.
type Created struct {
	Accounts []*CreatedAccount `json:"accounts"`
}

// CreatedAccount is an account of the world, with its cards and webhooks in the order of their times. Those with the
// same time are in the order of the document.
type CreatedAccount struct {
	AccountID string            `json:"account_id"`
	APIKey    string            `json:"api_key"`
	Cards     []*createdObject  `json:"cards"`
	Webhooks  []json.RawMessage `json:"webhooks"` // with their secrets
}

// createdObject has the fields of a created object that the builder and the response need.
type createdObject struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// step is something that happens in the world.
type step struct {
	at   time.Time
	rank rank
	do   func() error
}

// rank orders steps that have the same time.
type rank int

const (
	opening rank = iota
	deposit
	issue // also for funding a card
	purchase
	settlement
	refund
	challenge
	withdrawal
	finalStatus
	afterAll // the step comes after all others, regardless of its time
)

// maxSteps is the maximum number of steps of a world. All other changes wait until the steps are done.
const maxSteps = 50_000

// builder builds a world. It first adds all steps and checks their times. Then it sorts the steps and runs them.
// Most steps make a call of the sandbox.
type builder struct {
	*world

	call     *server.Call
	now      time.Time
	earliest time.Time // the earliest time of an event; the accounts are opened at this time
	steps    []step
	err      error // the first error that was found in the document
	created  Created
}

// randomSetting is the name of the setting with the world's seed. It also marks a file as seeded.
const randomSetting = "random_seed"

// create creates the world that the body describes.
func create(c *server.Call) (wire.Response, error) {
	err := control.RequireFirstAccount(c, "seed the sandbox")
	if err != nil {
		return wire.Response{}, err
	}
	text, err := c.RawBody()
	if err != nil {
		return wire.Response{}, err
	}
	w, err := read(text)
	if err != nil {
		return wire.Response{}, err
	}
	err = refuseUsed(c)
	if err != nil {
		return wire.Response{}, err
	}
	c.Quirks = behavior.DefaultQuirks() // the steps expect the default behavior, whatever quirks the file has
	b := &builder{world: w, call: c, created: Created{Accounts: []*CreatedAccount{}}}
	err = b.build()
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Created(b.created), nil
}

// refuseUsed returns an error if the sandbox is already in use. A new sandbox has one account and at most one ledger
// entry: the opening balance.
func refuseUsed(c *server.Call) error {
	used, err := store.Value[bool](c.Tx, `
		SELECT (SELECT COUNT(*) FROM accounts) > 1
			OR (SELECT COUNT(*) FROM ledger_entries) > 1
			OR EXISTS (SELECT 1 FROM webhooks)
			OR EXISTS (SELECT 1 FROM deposits)
			OR EXISTS (SELECT 1 FROM settings WHERE name = ?)`, randomSetting)
	if err != nil {
		return err
	}
	if used {
		return wire.Invalid("the sandbox is already in use; seed a new file, or reset this one first")
	}
	return nil
}

// build adds the steps of the document and, if it finds no error in them, runs them.
func (b *builder) build() error {
	tx := b.call.Tx
	b.now = b.Clock.Time
	if b.now.IsZero() {
		b.now = tx.Now()
	}
	b.earliest = b.now
	each("accounts", b.Accounts, b.addAccount)
	b.addBehavior()
	if len(b.steps) > maxSteps {
		b.refuse(wholeDocument, "the world takes %d steps, such as issuing a card; at most %d are allowed", len(b.steps), maxSteps)
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

// compareSteps orders steps by time, and steps that have the same time by rank. Steps with the rank afterAll come last.
func compareSteps(a, b step) int {
	if a.rank == afterAll && b.rank != afterAll {
		return 1
	}
	if a.rank != afterAll && b.rank == afterAll {
		return -1
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.rank, b.rank))
}

// addBehavior adds steps that set the faults, limits and quirks. The steps come after the world's events, which they must
// not affect.
func (b *builder) addBehavior() {
	each("faults", b.Faults, func(place string, fault *value) {
		b.addLast(place, "POST "+server.Control+"/faults", *fault)
	})
	b.addLast("limits", "PUT "+server.Control+"/limits", b.Limits)
	b.addLast("quirks", "PUT "+server.Control+"/quirks", b.Quirks)
}

// addLast adds a step that makes a call for the first account, unless the body is empty.
func (b *builder) addLast(place, route string, body value) {
	if len(body) == 0 {
		return
	}
	first := &accountBuilder{builder: b, Account: b.call.Account}
	b.addStep(b.now, afterAll, func() error {
		return first.do(request{place: place, route: route, body: body})
	})
}

// each calls build with each element of a list and its place in the document. The parameter list is the place of the list.
func each[T any](list string, specs []T, build func(place string, spec *T)) {
	for i := range specs {
		build(fmt.Sprintf("%s[%d]", list, i), &specs[i])
	}
}

// withPlace turns an error that refuses a call into one with the same message and its place in the document. It returns
// any other error, or nil, unchanged.
func (b *builder) withPlace(place string, err error) error {
	refused, ok := errors.AsType[*wire.Error](err)
	if ok {
		return b.invalid(place, "%s", refused.Message)
	}
	return err
}

// wholeDocument is the place of an error that no part of the document causes alone.
const wholeDocument = ""

// refuse records an error at a place in the document, unless there is an earlier error.
func (b *builder) refuse(place, format string, args ...any) {
	if b.err == nil {
		b.err = b.invalid(place, format, args...)
	}
}

// checkOneOf refuses a value that is not one of the valid values. An empty value is valid: the document may leave it out.
func (b *builder) checkOneOf(place, name, value string, valid ...string) {
	if value == "" {
		return
	}
	if !slices.Contains(valid, value) {
		b.refuse(place, "%s must be one of %s", name, strings.Join(valid, ", "))
	}
}

// event is an event of the document.
type event struct {
	place   string
	at      instant // if zero, schedule chooses the time
	rank    rank
	follows time.Time // the time of the event that it follows; zero if there is none
}

// schedule adds a step for an event, and returns the time of the step. That is the event's own time, or else the time
// of the event that it follows, or else the world's time. It refuses a time that is later than the world's time, or earlier
// than the event that it follows.
func (b *builder) schedule(e event, do func() error) time.Time {
	at := e.at.Time
	if at.IsZero() {
		at = e.follows
	}
	if at.IsZero() {
		at = b.now
	}
	if at.After(b.now) {
		b.refuse(e.place, "the time must not be later than the world's clock, %s", wire.Timestamp(b.now))
	} else if at.Before(e.follows) {
		b.refuse(e.place, "the time must not be earlier than the event it follows, %s", wire.Timestamp(e.follows))
	}
	if at.Before(b.earliest) {
		b.earliest = at
	}
	b.addStep(at, e.rank, do)
	return at
}

func (b *builder) addStep(at time.Time, rank rank, do func() error) {
	b.steps = append(b.steps, step{at, rank, do})
}

// accountBuilder builds an account of the world. Account is the sandbox's first account until open has created another.
type accountBuilder struct {
	*builder
	account.Account

	response *CreatedAccount // the account's part of the response
}

// addAccount adds the steps of an account. The document's first account stands for the sandbox's first account.
func (b *builder) addAccount(place string, spec *accountSpec) {
	first := len(b.created.Accounts) == 0
	a := &accountBuilder{
		builder:  b,
		Account:  b.call.Account,
		response: &CreatedAccount{Cards: []*createdObject{}, Webhooks: []json.RawMessage{}},
	}
	b.created.Accounts = append(b.created.Accounts, a.response)
	b.checkOneOf(place, "state", spec.State, account.States()...)
	each(place+".deposits", spec.Deposits, a.addDeposit)
	each(place+".cards", spec.Cards, a.addCard)
	each(place+".webhooks", spec.Webhooks, a.addEndpoint)
	beforeAll := time.Time{}
	b.addStep(beforeAll, opening, func() error { return a.open(place, spec.Wallet, first) })
	if spec.State != "" { // the state is set after the events, because confirming a deposit can change it
		b.addStep(b.now, afterAll, func() error {
			return b.call.Tx.Exec(`UPDATE accounts SET state = ? WHERE id = ?`, spec.State, a.ID)
		})
	}
}

// request is a call that do makes.
type request struct {
	place    string // in the document, for errors
	route    string
	id       string // the value of the parameter in the route's path; empty if it has none
	body     any    // nil if the call has none
	response any    // what the response is decoded into; nil if it is not needed
}

// do makes a call for the account and decodes its response. If the call is refused, the error names the place in the
// document.
func (a *accountBuilder) do(r request) error {
	o := server.Operation{Route: r.route}
	if r.body != nil {
		o.Body = wire.Encode(r.body)
	}
	_, afterBrace, found := strings.Cut(r.route, "{")
	if found {
		parameter, _, _ := strings.Cut(afterBrace, "}")
		o.Path = map[string]string{parameter: r.id}
	}
	err := a.call.Do(a.Account, o, r.response)
	return a.withPlace(r.place, err)
}

// open creates the account, or prepares the first account, which the sandbox already has.
func (a *accountBuilder) open(place string, wallet value, first bool) error {
	tx := a.call.Tx
	tx.SetNow(a.earliest)
	if first {
		return a.openFirst(place, wallet)
	}
	fields := map[string]any{"state": account.Ready, "initial_balance": wallet}
	err := a.do(request{
		place:    place,
		route:    "POST " + server.Control + "/accounts",
		body:     fields,
		response: a.response, // the response sets only AccountID and APIKey
	})
	if err != nil {
		return err
	}
	a.Account, err = account.ByKey(tx, a.response.APIKey)
	return err
}

// openFirst sets the initial balance of the first account, if the document has one. It always opens the ledger again, so
// that the opening balance is not later than the world's events.
func (a *accountBuilder) openFirst(place string, wallet value) error {
	tx := a.call.Tx
	key, err := account.Key(tx, a.call.Keys, a.PublicID)
	if err != nil {
		return err
	}
	a.response.AccountID = a.PublicID
	a.response.APIKey = key
	if len(wallet) > 0 {
		// Reading the balance like a field of a call applies the checks of a call.
		body := wire.Body{Raw: wire.Encode(map[string]any{"wallet": wallet})}
		fields := body.Fields("application/json")
		balance := fields.OptionalNotNegativeAmount("wallet")
		err := fields.Done()
		if err != nil {
			return a.withPlace(place, err)
		}
		err = tx.Exec(`UPDATE service SET initial_balance = ?`, balance)
		if err != nil {
			return err
		}
	}
	return account.ResetFirst(tx)
}

// addDeposit adds a step that creates a deposit and, if the document says so, confirms it.
func (a *accountBuilder) addDeposit(place string, d *depositSpec) {
	const route = "POST " + server.Control + "/deposits"
	a.checkOneOf(place, "status", d.Status, "pending", "confirmed")
	a.schedule(event{place: place, at: d.At, rank: deposit}, func() error {
		var created createdObject
		err := a.do(request{place: place, route: route, body: d, response: &created})
		if err != nil {
			return err
		}
		if d.Status != "confirmed" {
			return nil
		}
		return a.do(request{place: place, route: route + "/{id}/confirm", id: created.ID})
	})
}

// addEndpoint adds a step that registers a webhook after the world's events, so that it receives none of them.
func (a *accountBuilder) addEndpoint(place string, e *endpointSpec) {
	a.schedule(event{place: place, at: e.At, rank: afterAll}, func() error {
		var created json.RawMessage
		err := a.do(request{place: place, route: "POST " + server.API + "/webhooks", body: e, response: &created})
		if err != nil {
			return err
		}
		a.response.Webhooks = append(a.response.Webhooks, created)
		return nil
	})
}

// cardBuilder builds a card of the world.
type cardBuilder struct {
	*accountBuilder

	card           createdObject
	issued         time.Time
	status         string // the final status; if empty, the status that results from the events
	finalStatusSet bool   // whether setFinalStatus has set the status
}

// addCard adds the steps of a card.
func (a *accountBuilder) addCard(place string, spec *cardSpec) {
	c := &cardBuilder{accountBuilder: a, status: spec.Status}
	a.checkOneOf(place, "status", spec.Status, "active", "frozen", "terminated")
	c.issued = a.schedule(event{place: place, at: spec.At, rank: issue}, func() error {
		a.response.Cards = append(a.response.Cards, &c.card)
		return a.do(request{place: place, route: "POST " + server.API + "/cards", body: spec, response: &c.card})
	})
	each(place+".movements", spec.Movements, c.addMovement)
	each(place+".purchases", spec.Purchases, c.addPurchase)
	each(place+".challenges", spec.Challenges, c.addChallenge)
	if spec.Status == "" && !spec.StatusAt.IsZero() {
		a.refuse(place, "status_at requires status")
	}
	statusAt := spec.StatusAt
	if statusAt.IsZero() {
		statusAt.Time = a.now // by default, the status changes at the end
	}
	final := event{place: place + ".status_at", at: statusAt, rank: finalStatus, follows: c.issued}
	a.schedule(final, func() error { return c.setFinalStatus(place) })
}

// addMovement adds a step that funds the card or, if the amount is negative, withdraws from it.
func (c *cardBuilder) addMovement(place string, m *movementSpec) {
	route := "POST " + server.API + "/cards/{card_id}/fund"
	rank := issue
	amount, negative := strings.CutPrefix(string(m.Amount), "-")
	if negative {
		route = "POST " + server.API + "/cards/{card_id}/withdraw"
		rank = withdrawal
		m.Amount = value(amount)
	}
	c.schedule(event{place: place, at: m.At, rank: rank, follows: c.issued}, func() error {
		return c.do(request{place: place, route: route, id: c.card.ID, body: m})
	})
}

// merchantResponse is the response to an authorization or a settlement.
type merchantResponse struct {
	Transaction   createdObject `json:"transaction"`
	DeclineReason string        `json:"decline_reason"` // empty if nothing is declined
}

// addPurchase adds the steps of an authorization, its settlement and its refunds, or the step of a decline.
func (c *cardBuilder) addPurchase(place string, p *purchaseSpec) {
	c.checkOneOf(place, "declined", p.Declined,
		"card_frozen", "card_terminated", "insufficient_funds", "category_not_allowed", "spending_limit_exceeded")
	if p.Declined != "" && p.Settled != nil {
		c.refuse(place, "a declined purchase cannot be settled; remove declined or settled")
	} else if p.Settled == nil && len(p.Refunds) > 0 {
		c.refuse(place, "refunds require settled")
	}
	authorized := new(merchantResponse)
	bought := event{place: place, at: p.At, rank: purchase, follows: c.issued}
	authorizedAt := c.schedule(bought, func() error {
		p.CardID = c.card.ID
		err := c.authorize(place, p, authorized)
		if err != nil {
			return err
		}
		if authorized.DeclineReason != p.Declined {
			return c.invalid(place, "the purchase should be %s, but with the card's settings and earlier events it is %s",
				describeOutcome(p.Declined), describeOutcome(authorized.DeclineReason))
		}
		return nil
	})
	if p.Settled == nil {
		return
	}
	settled := new(merchantResponse)
	settledPlace := place + ".settled"
	paid := event{place: settledPlace, at: p.Settled.At, rank: settlement, follows: authorizedAt}
	settledAt := c.schedule(paid, func() error {
		p.Settled.TransactionID = authorized.Transaction.ID
		route := "POST " + server.Control + "/settlements"
		return c.do(request{place: settledPlace, route: route, body: p.Settled, response: settled})
	})
	each(place+".refunds", p.Refunds, func(place string, f *followUpSpec) {
		c.schedule(event{place: place, at: f.At, rank: refund, follows: settledAt}, func() error {
			f.TransactionID = settled.Transaction.ID
			return c.do(request{place: place, route: "POST " + server.Control + "/refunds", body: f})
		})
	})
}

// describeOutcome describes the outcome of a purchase. The reason is empty if the purchase is approved.
func describeOutcome(declineReason string) string {
	if declineReason == "" {
		return "approved"
	}
	return "declined with " + declineReason
}

// addChallenge adds a step that creates a 3D Secure challenge and, if the document sets its status, completes it.
func (c *cardBuilder) addChallenge(place string, s *challengeSpec) {
	const route = "POST " + server.Control + "/3ds-challenges"
	c.checkOneOf(place, "status", s.Status, "approved", "failed")
	c.schedule(event{place: place, at: s.At, rank: challenge, follows: c.issued}, func() error {
		s.CardID = c.card.ID
		var created createdObject
		err := c.do(request{place: place, route: route, body: s, response: &created})
		if err != nil {
			return err
		}
		if s.Status == "" {
			return nil
		}
		outcome := map[string]string{"outcome": s.Status}
		return c.do(request{place: place, route: route + "/{id}/complete", id: created.ID, body: outcome})
	})
}

// authorize makes the call for a purchase. Until setFinalStatus has set the card's final status, authorize changes the
// status if the purchase needs that: for a decline with card_frozen, it freezes an active card during the call; for any
// other purchase, it unfreezes a frozen card if the document sets a final status.
func (c *cardBuilder) authorize(place string, p *purchaseSpec, response *merchantResponse) error {
	authorization := request{place: place, route: "POST " + server.Control + "/authorizations", body: p, response: response}
	if c.finalStatusSet {
		return c.do(authorization)
	}
	if p.Declined == "card_frozen" {
		wasActive, err := c.replaceStatus("active", "frozen")
		if err != nil {
			return err
		}
		err = c.do(authorization)
		if err != nil {
			return err
		}
		if !wasActive { // the card was already frozen, and stays frozen
			return nil
		}
		_, err = c.replaceStatus("frozen", "active")
		return err
	}
	if c.status != "" { // undo an automatic freeze, because the document says which status the card has at the end
		_, err := c.replaceStatus("frozen", "active")
		if err != nil {
			return err
		}
	}
	return c.do(authorization)
}

// replaceStatus changes the card's status from oldStatus to newStatus, and reports whether the card had oldStatus. If the
// card has another status, replaceStatus changes nothing. It makes no call and emits no event.
func (c *cardBuilder) replaceStatus(oldStatus, newStatus string) (bool, error) {
	var id string
	return c.call.Tx.Get([]any{&id},
		`UPDATE cards SET status = ? WHERE public_id = ? AND status = ? RETURNING public_id`,
		newStatus, c.card.ID, oldStatus)
}

// setFinalStatus gives the card its final status, if the document sets one.
func (c *cardBuilder) setFinalStatus(place string) error {
	const path = server.API + "/cards/{card_id}"
	if c.status == "" {
		return nil
	}
	c.finalStatusSet = true
	var route string
	switch c.status { // addCard has refused any other status
	case "active":
		route = "POST " + path + "/unfreeze"
	case "frozen":
		route = "POST " + path + "/freeze"
	case "terminated":
		route = "DELETE " + path
	}
	return c.do(request{place: place, route: route, id: c.card.ID})
}
