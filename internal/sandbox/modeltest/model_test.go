package modeltest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// world is what all accounts of a file share.
type world struct {
	now    time.Time
	quirks object
	see    func(what string) // counts what has come about
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// usualQuirks are how the service behaves unless told otherwise.
func usualQuirks() object {
	return object{
		"idempotency": "honoured", "cards_per_page": 100, "cards_total": "present", "withdraw_amount": "honoured",
		"transactions_per_page": "honoured", "repeated_state": "ok", "terminated_status": 400, "frozen_money": "allowed", "amounts": "decimals",
		// The model leaves these alone.
		"error_body": "json", "retry_after": "seconds", "wallet_fields": list{"wallet_a_pay", "wallet_b_pay"},
		"balance": "less_holds", "card_values": "as_asked", "cards_hidden_seconds": 0,
		"transaction_period": "days", "transaction_signs": "unsigned", "challenge_status": "honoured",
		"wallet_decimals": 2, "timestamps": "utc", "empty_metadata": "object", "exp_year_digits": 4,
	}
}

// account is a customer as it should be.
type account struct {
	*world

	wallet, holds, merchants, fees, deposited, loss cents
	cards                                           []*card        // in the order of issue
	transactions                                    []*transaction // in the order of recording
	challenges                                      []*challenge
	deposits                                        []*deposit
	hooks                                           []*hook
	requests                                        []object // as the log shows them
	addresses                                       list     // as first seen
}

type card struct {
	id, last4      *chosen
	bin, label     string
	status         string
	balance, limit cents
	categories     list
	freezeAt       any // cents or nil
	metadata       object
	created        string
	expires        time.Time
	pan, cvv       *chosen
	spentOn        map[string]cents // by month, what its authorizations come to
}

// transaction is any of the four types.
type transaction struct {
	card        *card
	id          *chosen
	kind        string
	amount, fee cents
	merchant    object
	created     string
	settled     bool  // of an authorization
	refunded    cents // of a settlement
}

type challenge struct {
	card    *card
	id, otp *chosen
	amount  cents
	status  string
	expires time.Time
}

type deposit struct {
	id               *chosen
	currency         string
	amount           cents
	status, created  string
	network, address any
}

type hook struct {
	id, secret *chosen
	path       string
	events     list
	expected   []event // what it should be told, in order
}

type event struct {
	kind, created string
	data          object
	notation      any
}

// response is how a call should end.
type response struct {
	status int
	body   any
}

func refused(status int, code string) response {
	return response{status, object{"error": code, "message": &chosen{}}}
}

func invalid() response           { return refused(http.StatusBadRequest, "invalid_request") }
func unknown() response           { return refused(http.StatusNotFound, "not_found") }
func found(body any) response     { return response{http.StatusOK, body} }
func created(body any) response   { return response{http.StatusCreated, body} }
func (r response) succeeds() bool { return r.status < http.StatusBadRequest }

// emit tells an event to the endpoints that want it.
func (a *account) emit(kind string, data object) {
	a.see(kind)
	for _, h := range a.hooks {
		if slices.Contains(h.events, any("*")) || slices.Contains(h.events, any(kind)) {
			h.expected = append(h.expected, event{kind, stamp(a.now), data, a.quirks["amounts"]})
		}
	}
}

func (c *card) item() object {
	return object{
		"id": c.id, "bin_id": c.bin, "network": catalogue()[c.bin].network, "last4": c.last4, "status": c.status,
		"balance": c.balance, "spending_limit": c.limit, "label": c.label,
	}
}

func (c *card) summary() object { return with(c.item(), "created_at", c.created) }

func (c *card) full() object {
	o := c.summary()
	o["allowed_categories"], o["auto_freeze_at"], o["metadata"] = c.categories, c.freezeAt, c.metadata
	o["expires_at"] = c.expires.Format(time.DateOnly)
	return o
}

func (c *card) state() object { return object{"id": c.id, "status": c.status, "balance": c.balance} }

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

func (a *account) showChallenge(ch *challenge) object {
	return object{
		"id": ch.id, "card_id": ch.card.id, "merchant": "Big Ads", "amount": ch.amount, "otp": ch.otp,
		"status": ch.statusAt(a.now), "expires_at": stamp(ch.expires),
	}
}

func (d *deposit) view() object {
	return object{
		"id": d.id, "currency": d.currency, "network": d.network, "address": d.address,
		"amount": d.amount, "status": d.status, "created_at": d.created,
	}
}

// filter is a query of a list; what is empty is left out. from and to are
// timestamps of one width, or dates.
type filter struct {
	status, bin          string // of cards
	card, kind, from, to string // of transactions
	number, size         int
}

func (a *account) listCards(f filter) response {
	all := backward(a.cards, func(c *card) bool {
		return (f.status == "" || c.status == f.status) && (f.bin == "" || c.bin == f.bin)
	})
	size := min(f.size, a.quirks["cards_per_page"].(int))
	o := object{"data": page(all, f.number, size, (*card).item), "page": f.number, "per_page": size}
	if a.quirks["cards_total"] == "present" {
		o["total"] = len(all)
	}
	return found(o)
}

func (a *account) listTransactions(f filter) response {
	if len(f.to) == len(time.DateOnly) {
		f.to += "T23:59:59.999Z"
	}
	all := backward(a.transactions, func(t *transaction) bool {
		return (f.card == "" || t.card.id.text == f.card) && (f.kind == "" || t.kind == f.kind) &&
			t.created >= f.from && (f.to == "" || t.created <= f.to)
	})
	if a.quirks["transactions_per_page"] == "ignored" {
		f.size = 25
	}
	return found(object{"data": page(all, f.number, f.size, (*transaction).view), "page": f.number})
}

func (a *account) listChallenges(status string) response {
	all := backward(a.challenges, func(ch *challenge) bool { return ch.statusAt(a.now) == status })
	return found(object{"data": page(all, 1, len(all), a.showChallenge)})
}

func (a *account) balance() response {
	var pending, onCards cents
	active := 0
	for _, d := range a.deposits {
		if d.status == "pending" {
			pending += d.amount
		}
	}
	for _, c := range a.cards {
		onCards += c.balance
		if c.status == "active" {
			active++
		}
	}
	return found(object{
		"balance": a.wallet, "currency": "USDT", "pending_deposits": pending, "cards_active": active, "cards_total_balance": onCards,
	})
}

// ledger returns every ledger account by its name.
func (a *account) ledger() object {
	ledger := object{
		"wallet": a.wallet, "holds": a.holds, "fees": a.fees, "merchants": a.merchants, "deposits": a.deposited, "loss": a.loss,
	}
	for _, c := range a.cards {
		ledger[c.id.text] = c.balance
	}
	return ledger
}

// cents is the model's own idea of money.
type cents int64

func (c cents) String() string {
	sign, n := "", c
	if c < 0 {
		sign, n = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

func (c cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// in returns the amount as a JSON decoder finds it in a notation.
func (c cents) in(notation any) any {
	switch notation {
	case "strings":
		return c.String()
	case "plain":
		return json.Number(strings.TrimSuffix(strings.TrimRight(c.String(), "0"), "."))
	}
	return json.Number(c.String())
}

// object and list are JSON that a response is expected to be. Beside decoded
// values they hold cents, ints, and the two types below.
type (
	object = map[string]any
	list   = []any
)

type (
	// anything is a value that the model does not care for.
	anything struct{}
	// chosen is a text that the service chooses, of which only the beginning is
	// known. It is remembered when it is first seen, and stays.
	chosen struct{ prefix, text string }
)

func (c *chosen) String() string               { return c.text }
func (c *chosen) MarshalText() ([]byte, error) { return []byte(c.text), nil }

func (c *chosen) is(got any) bool {
	text, _ := got.(string)
	if c.text == "" && strings.HasPrefix(text, c.prefix) && len(text) > len(c.prefix) {
		c.text = text
	}
	return text != "" && text == c.text
}

// difference tells what differs first between an expectation and a decoded value.
func difference(at string, want, got any, notation any) string {
	same := false
	switch want := want.(type) {
	case anything:
		same = true
	case *chosen:
		same = want.is(got)
	case cents:
		same = got == want.in(notation)
	case int:
		same = got == json.Number(fmt.Sprint(want))
	case list:
		have, isList := got.(list)
		if !isList || len(have) != len(want) {
			break
		}
		for i := range want {
			if d := difference(fmt.Sprintf("%s[%d]", at, i), want[i], have[i], notation); d != "" {
				return d
			}
		}
		return ""
	case object:
		have, _ := got.(object)
		names := slices.Sorted(maps.Keys(want))
		if !slices.Equal(names, slices.Sorted(maps.Keys(have))) {
			break
		}
		for _, name := range names {
			if d := difference(at+"."+name, want[name], have[name], notation); d != "" {
				return d
			}
		}
		return ""
	default:
		same = got == want
	}
	if same {
		return ""
	}
	return fmt.Sprintf("%s is %v, want %v", at, got, want)
}

// page cuts a page out of a list, each element as it is shown.
func page[T any](all []T, number, size int, view func(T) object) list {
	begin := min((number-1)*size, len(all))
	views := list{}
	for _, one := range all[begin:min(begin+size, len(all))] {
		views = append(views, view(one))
	}
	return views
}

// backward returns those that pass, the last first.
func backward[T any](all []T, passes func(T) bool) (some []T) {
	for _, one := range slices.Backward(all) {
		if passes(one) {
			some = append(some, one)
		}
	}
	return some
}

func with(o object, name string, value any) object {
	more := maps.Clone(o)
	more[name] = value
	return more
}
