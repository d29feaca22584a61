package seed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// Path is where the world is written and read.
const Path = server.Control + "/seed"

// Routes are the two calls.
func Routes() []server.Route {
	return []server.Route{
		{Method: http.MethodGet, Path: Path, Handle: write},
		{Method: http.MethodPost, Path: Path, Handle: begin},
	}
}

// Begun is the response: what a caller cannot know from the file.
type Begun struct {
	Accounts []*BegunAccount `json:"accounts"`
}

// BegunAccount is an account of a world, with its key, its cards and its endpoints
// in the file's order.
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

// step is something that happened in the world.
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

// planter makes a world by the calls that would have made it.
type planter struct {
	call    *server.Call
	now     time.Time
	opening time.Time // the earliest of all
	steps   []step
	begun   Begun
}

const randomSetting = "random_seed"

// begin makes the world that the body tells of, whole or not at all.
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
	p := &planter{call: c, begun: Begun{Accounts: []*BegunAccount{}}}
	if err := p.plant(world); err != nil {
		return wire.Response{}, err
	}
	return wire.Created(p.begun), nil
}

// refuseUsed refuses a file in which anything has happened.
func refuseUsed(c *server.Call) error {
	if store.Value[bool](c.Tx, `SELECT (SELECT COUNT(*) FROM accounts) > 1 OR (SELECT COUNT(*) FROM ledger_entries) > 1
		OR EXISTS (SELECT 1 FROM webhooks) OR EXISTS (SELECT 1 FROM deposits) OR EXISTS (SELECT 1 FROM settings WHERE name = ?)`, randomSetting) {
		return wire.Invalid("the sandbox is in use already; seed a new file, or reset this one first")
	}
	return nil
}

func (p *planter) plant(world *mapping) (err error) {
	tx := p.call.Tx
	var random uint64
	if text := world.take("random_seed"); text != nil {
		if random, err = strconv.ParseUint(fmt.Sprint(text), 10, 64); err != nil {
			return world.refused("random_seed must be an integer from 0")
		}
	}
	p.now = world.time("clock", tx.Now())
	p.opening = p.now
	for i, a := range world.list("accounts") {
		p.account(a, i == 0)
	}
	p.behave(world)
	if world.done(); *world.mistake != nil {
		return *world.mistake
	}
	tx.SetRandom(random)
	tx.WriteSetting(randomSetting, random)
	tx.MoveClock(p.now)
	slices.SortStableFunc(p.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.rank/lasting, b.rank/lasting), a.at.Compare(b.at), cmp.Compare(a.rank, b.rank))
	})
	for _, s := range p.steps {
		tx.SetNow(s.at)
		if err := s.do(); err != nil {
			return err
		}
	}
	tx.SetNow(p.now)
	return nil
}

// behave sets how the service behaves, which has to wait until the world is there.
func (p *planter) behave(world *mapping) {
	first := &resident{planter: p, Account: p.call.Account}
	set := func(m *mapping, route string) {
		p.plan(p.now, lasting, func() error { return first.do(m, route, "", m.members, nil) })
	}
	for _, f := range world.list("faults") {
		set(f, "POST "+server.Control+"/faults")
	}
	for _, name := range []string{"limits", "quirks"} {
		if value := world.take(name); value != nil {
			set(world.mapped(name, value), "PUT "+server.Control+"/"+name)
		}
	}
}

// do makes a call for the account, in whose path an id may stand, and reads the
// response. Its refusal is one of the mapping.
func (r *resident) do(in *mapping, route, id string, fields map[string]any, into any) error {
	_, name, _ := strings.Cut(route, "{")
	name, _, _ = strings.Cut(name, "}")
	response, err := r.call.Do(r.Account, server.Operation{Route: route, Path: map[string]string{name: id}, Fields: fields})
	if err != nil || into == nil {
		return in.explained(err)
	}
	return json.Unmarshal(response.Body, into)
}

// happen has something happen at the time that a mapping tells, which is not before
// that of what it belongs to.
func (p *planter) happen(in *mapping, rank rank, since time.Time, do func() error) (at time.Time) {
	at = in.time("at", since)
	switch {
	case since.IsZero() && at.IsZero():
		at = p.now
	case at.After(p.now):
		in.refuse("at must not be later than the world's clock, %s", wire.Timestamp(p.now))
	case at.Before(since):
		in.refuse("at is before that of what it belongs to, %s", wire.Timestamp(since))
	}
	if at.Before(p.opening) {
		p.opening = at
	}
	p.plan(at, rank, do)
	return at
}

func (p *planter) plan(at time.Time, rank rank, do func() error) {
	p.steps = append(p.steps, step{at, rank, do})
}
