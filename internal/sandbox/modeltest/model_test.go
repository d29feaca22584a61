package modeltest_test

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// model is what all accounts of a file share. It changes only while no client
// is at work.
type model struct {
	now    time.Time
	quirks quirks
}

// quirks are those that the model knows, by their names on the wire.
type quirks struct {
	Idempotency         string `json:"idempotency,omitempty"`
	CardsPerPage        int    `json:"cards_per_page,omitempty"`
	CardsTotal          string `json:"cards_total,omitempty"`
	WithdrawAmount      string `json:"withdraw_amount,omitempty"`
	TransactionsPerPage string `json:"transactions_per_page,omitempty"`
	RepeatedState       string `json:"repeated_state,omitempty"`
	TerminatedStatus    int    `json:"terminated_status,omitempty"`
	FrozenMoney         string `json:"frozen_money,omitempty"`
	Amounts             string `json:"amounts,omitempty"`
}

// notation is that of the amounts in a response. The control calls' is always
// the same.
func (m *model) notation(path string) string {
	if strings.HasPrefix(path, control) {
		return "decimals"
	}
	return m.quirks.Amounts
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// account is a customer as it should be. In a shared account the lock guards
// everything but the cards, which belong to one client each.
type account struct {
	key    string
	shared bool
	seen   *coverage

	mu                                              sync.Mutex
	wallet, holds, merchants, fees, deposited, loss cents
	cards                                           []*card        // in the order of issue
	transactions                                    []*transaction // in the order of recording
	challenges                                      []*challenge
	deposits                                        []*deposit
	hooks                                           []*hook
	requests                                        []object // as the log shows them
	addresses                                       list     // as first seen
}

// nobody owns what all clients of a shared account use.
const nobody = -1

type card struct {
	owner                 int
	id, bin, last4, label string
	status                string
	balance, limit        cents
	categories            list
	freezeAt              any // cents or nil
	metadata              object
	created, expires      string
	details               object // as first seen
	authorizations        []*transaction
	settlements           []*transaction
	challenges            []*challenge
}

// transaction is any of the four types.
type transaction struct {
	card        *card
	id, kind    string
	amount, fee cents
	merchant    object
	created     string
	settlement  *transaction // of an authorization
	refunded    cents        // of a settlement
}

type challenge struct {
	card    *card
	id, otp string
	amount  cents
	status  string
	expires time.Time
}

type deposit struct {
	owner              int
	id, currency       string
	amount             cents
	status, created    string
	network, addressed any
}

type hook struct {
	id, secret, path string
	events           list
	expected         []event // what it should be told, in order
}

type event struct {
	owner         int
	kind, created string
	data          object
	notation      string
}

// outcome is how a call should end.
type outcome struct {
	status int
	code   string // of a refusal
	body   any    // of a success
	// commit is what a success does to the model. It is called once, with the
	// response, which tells the values that only the service can choose.
	commit func(got object)
}

func refused(code string) outcome { return outcome{status: 400, code: code} }

func found(body any) outcome { return outcome{status: 200, body: body} }

// emit tells an event to the endpoints that want it.
func (a *account) emit(m *model, owner int, kind string, data object) {
	for _, h := range a.hooks {
		if slices.Contains(h.events, any("*")) || slices.Contains(h.events, any(kind)) {
			h.expected = append(h.expected, event{owner, kind, stamp(m.now), data, m.quirks.Amounts})
		}
	}
}

// held is what a card holds, unless everybody may be changing it.
func (c *card) held() any {
	if c.owner == nobody {
		return anything{}
	}
	return c.balance
}

func (c *card) item() object {
	return object{
		"id": c.id, "bin_id": c.bin, "network": networkOf(c.bin), "last4": c.last4, "status": c.status,
		"balance": c.held(), "spending_limit": c.limit, "label": c.label,
	}
}

func (c *card) summary() object {
	o := c.item()
	o["created_at"] = c.created
	return o
}

func (c *card) full() object {
	o := c.summary()
	o["allowed_categories"], o["auto_freeze_at"], o["metadata"], o["expires_at"] = c.categories, c.freezeAt, c.metadata, c.expires
	return o
}

func (c *card) state() object {
	return object{"id": c.id, "status": c.status, "balance": c.held()}
}

func (t *transaction) view() object {
	return object{
		"id": t.id, "card_id": t.card.id, "type": t.kind, "amount": t.amount, "currency": "USD", "fee": t.fee,
		"merchant": t.merchant, "created_at": t.created,
	}
}

// statusAt follows the clock.
func (ch *challenge) statusAt(now time.Time) string {
	if ch.status == "pending" && !now.Before(ch.expires) {
		return "expired"
	}
	return ch.status
}

func (ch *challenge) view(now time.Time) object {
	return object{
		"id": ch.id, "card_id": ch.card.id, "merchant": "Big Ads", "amount": ch.amount, "otp": ch.otp,
		"status": ch.statusAt(now), "expires_at": stamp(ch.expires),
	}
}

func (d *deposit) view() object {
	return object{
		"id": d.id, "currency": d.currency, "network": d.network, "address": d.addressed,
		"amount": d.amount, "status": d.status, "created_at": d.created,
	}
}
