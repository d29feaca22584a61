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

// maxSteps is how much may have happened in a world. Nobody else changes anything while
// it is made.
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
	for i := range b.Accounts {
		b.account(fmt.Sprintf("accounts[%d]", i), &b.Accounts[i], i == 0)
	}
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
	set := func(place, route string, body value) {
		if len(body) > 0 {
			b.plan(b.now, lasting, func() error { return first.do(place, route, "", body, nil) })
		}
	}
	for i, f := range b.Faults {
		set(fmt.Sprintf("faults[%d]", i), "POST "+server.Control+"/faults", f)
	}
	set("limits", "PUT "+server.Control+"/limits", b.Limits)
	set("quirks", "PUT "+server.Control+"/quirks", b.Quirks)
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
