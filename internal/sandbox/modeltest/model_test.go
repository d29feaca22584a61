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

// entry is what the model knows of a BIN.
type entry struct {
	network string
	maximum cents
}

func catalogue() map[string]entry {
	return map[string]entry{
		"bin_ads_visa_us":            {"visa", 50_000_00},
		"bin_ads_mastercard_eu":      {"mastercard", 25_000_00},
		"bin_software_mastercard_us": {"mastercard", 15_000_00},
		"bin_general_visa_eu":        {"visa", 5_000_00},
	}
}

// merchants is a code of each category that the clients buy in.
func merchants() map[string]string {
	return map[string]string{
		"7311": "advertising", "5734": "software", "3001": "travel", "5311": "retail", "5812": "food", "0742": "other",
	}
}

// Each rule changes the model as the service should change, and returns what the
// service should respond.

func (a *account) issue(c *card) response {
	if a.wallet < c.balance+100 {
		return refused(http.StatusBadRequest, "insufficient_funds")
	}
	if c.limit == 0 {
		c.limit = catalogue()[c.bin].maximum
	}
	year, month, _ := a.now.Date()
	c.id, c.last4, c.pan, c.cvv = &chosen{prefix: "card_"}, &chosen{}, &chosen{prefix: "0"}, &chosen{}
	c.status, c.created, c.spentOn = "active", stamp(a.now), map[string]cents{}
	c.expires = time.Date(year+3, month+1, 0, 0, 0, 0, 0, time.UTC)
	a.wallet -= c.balance + 100
	a.fees += 100
	a.cards = append(a.cards, c)
	a.emit("card.created", c.full())
	return created(c.full())
}

// terminated is how calls that a terminated card does not take should end.
func (a *account) terminated() response {
	if status := a.quirks["terminated_status"].(int); status != http.StatusNotFound {
		return refused(status, "card_terminated")
	}
	return unknown()
}

// unusable tells how calls for money and details should end when the card's
// state forbids them.
func (a *account) unusable(c *card) (response, bool) {
	switch {
	case c.status == "terminated":
		return a.terminated(), true
	case c.status == "frozen" && a.quirks["frozen_money"] == "refused":
		return refused(http.StatusBadRequest, "card_frozen"), true
	}
	return response{}, false
}

func (a *account) switchTo(c *card, status string) response {
	switch {
	case c.status == "terminated":
		return a.terminated()
	case c.status == status && a.quirks["repeated_state"] == "conflict":
		return refused(http.StatusConflict, "card_"+status)
	case c.status != status:
		a.become(c, status)
	}
	return found(c.state())
}

func (a *account) become(c *card, status string) {
	c.status = status
	a.emit(map[string]string{"active": "card.unfrozen", "frozen": "card.frozen", "terminated": "card.terminated"}[status], c.full())
}

func (a *account) terminate(c *card) response {
	if c.status == "terminated" {
		return a.terminated()
	}
	returned := c.balance
	a.wallet += returned
	c.balance = 0
	a.become(c, "terminated")
	return found(object{"id": c.id, "status": "terminated", "returned_to_wallet": returned})
}

func (a *account) fund(c *card, amount cents) response {
	if r, unusable := a.unusable(c); unusable {
		return r
	}
	if amount > a.wallet {
		return refused(http.StatusBadRequest, "insufficient_funds")
	}
	a.wallet -= amount
	c.balance += amount
	a.emit("card.funded", c.full())
	return found(object{"card_id": c.id, "card_balance": c.balance, "wallet_balance": a.wallet})
}

// withdraw takes everything when the amount is 0.
func (a *account) withdraw(c *card, amount cents) response {
	if r, unusable := a.unusable(c); unusable {
		return r
	}
	if amount == 0 || a.quirks["withdraw_amount"] == "ignored" {
		amount = c.balance
	}
	if amount == 0 || amount > c.balance {
		return refused(http.StatusBadRequest, "insufficient_card_balance")
	}
	a.wallet += amount
	c.balance -= amount
	a.autoFreeze(c)
	return found(object{"card_id": c.id, "card_balance": c.balance, "wallet_balance": a.wallet})
}

// autoFreeze follows every decrease of a balance.
func (a *account) autoFreeze(c *card) {
	if threshold, set := c.freezeAt.(cents); set && c.status == "active" && c.balance < threshold {
		a.become(c, "frozen")
		a.see("auto-freeze")
	}
}

func (a *account) declineReason(c *card, amount, fee cents, mcc string) any {
	switch {
	case c.status != "active":
		return "card_" + c.status
	case amount+fee > c.balance:
		return "insufficient_funds"
	case len(c.categories) > 0 && !slices.Contains(c.categories, any(merchants()[mcc])):
		return "category_not_allowed"
	case c.spentOn[a.month()]+amount > c.limit:
		return "spending_limit_exceeded"
	}
	return nil
}

func (a *account) month() string { return stamp(a.now)[:len("2006-01")] }

// record adds a transaction.
func (a *account) record(t *transaction, kind string, amount, fee cents) *transaction {
	t.id, t.kind, t.amount, t.fee, t.created = &chosen{prefix: "txn_"}, kind, amount, fee, stamp(a.now)
	a.transactions = append(a.transactions, t)
	return t
}

func (a *account) authorize(c *card, amount, fee cents, mcc string) response {
	reason := a.declineReason(c, amount, fee, mcc)
	t := &transaction{card: c, merchant: object{"name": "Big Ads", "mcc": mcc}}
	if reason != nil {
		a.record(t, "decline", amount, 0)
		a.emit("transaction.declined", t.view())
	} else {
		a.record(t, "authorization", amount, fee)
		c.spentOn[a.month()] += amount
		c.balance -= amount
		a.holds += amount
		a.fees += fee
		a.collect(c, fee)
		a.emit("transaction.authorized", t.view())
		a.autoFreeze(c)
	}
	return created(object{"transaction": t.view(), "decline_reason": reason})
}

// collect takes an amount from whoever has the money.
func (a *account) collect(c *card, amount cents) {
	for _, balance := range []*cents{&c.balance, &a.wallet} {
		part := min(amount, *balance)
		*balance -= part
		amount -= part
	}
	if amount > 0 {
		a.loss -= amount
		a.see("loss")
	}
}

// give returns money to a card, or to the wallet in its place.
func (a *account) give(c *card, amount cents) {
	if c.status == "terminated" {
		a.wallet += amount
		a.see("given to the wallet")
		return
	}
	c.balance += amount
}

// settle pays an authorization; amount is 0 for the held one.
func (a *account) settle(of *transaction, amount, fee cents) response {
	if of.kind != "authorization" || of.settled {
		return invalid()
	}
	if amount == 0 {
		amount = of.amount
	}
	c := of.card
	before := c.balance
	of.settled = true
	c.spentOn[of.created[:len("2006-01")]] += amount - of.amount
	a.holds -= of.amount
	a.merchants += amount
	if amount <= of.amount {
		a.give(c, of.amount-amount)
	} else {
		a.collect(c, amount-of.amount)
	}
	return a.followUp(of, "settlement", "transaction.settled", amount, fee, before)
}

// refund gives back a settlement; amount is 0 for all that is left.
func (a *account) refund(of *transaction, amount, fee cents) response {
	left := of.amount - of.refunded
	if amount == 0 {
		amount = left
	}
	if of.kind != "settlement" || amount == 0 || amount > left {
		return invalid()
	}
	before := of.card.balance
	of.refunded += amount
	a.merchants -= amount
	a.give(of.card, amount)
	return a.followUp(of, "refund", "transaction.refunded", amount, fee, before)
}

// followUp records a settlement or refund and takes its fee.
func (a *account) followUp(of *transaction, kind, told string, amount, fee, before cents) response {
	t := a.record(&transaction{card: of.card, merchant: of.merchant}, kind, amount, fee)
	a.fees += fee
	a.collect(t.card, fee)
	a.emit(told, t.view())
	if t.card.balance < before {
		a.autoFreeze(t.card)
	}
	return created(object{"transaction": t.view()})
}

func (a *account) challenge(c *card, amount cents) response {
	if c.status == "terminated" {
		return refused(http.StatusBadRequest, "card_terminated")
	}
	ch := &challenge{c, &chosen{prefix: "3ds_"}, &chosen{}, amount, "pending", a.now.Add(5 * time.Minute)}
	a.challenges = append(a.challenges, ch)
	a.emit("3ds.challenge", a.showChallenge(ch))
	return created(a.showChallenge(ch))
}

func (a *account) complete(ch *challenge, result string) response {
	if ch.statusAt(a.now) != "pending" {
		return invalid()
	}
	ch.status = result
	return found(a.showChallenge(ch))
}

func (a *account) detect(currency string, amount cents) response {
	d := &deposit{id: &chosen{prefix: "dep_"}, currency: currency, amount: amount, status: "pending", created: stamp(a.now)}
	for _, address := range a.addresses {
		if o, _ := address.(object); o["currency"] == currency {
			d.network, d.address = o["network"], o["address"]
		}
	}
	a.deposits = append(a.deposits, d)
	a.emit("deposit.pending", d.view())
	return created(d.view())
}

func (a *account) confirm(d *deposit) response {
	if d.status == "confirmed" {
		return invalid()
	}
	d.status = "confirmed"
	a.deposited -= d.amount
	a.wallet += d.amount
	a.emit("deposit.confirmed", d.view())
	return found(d.view())
}
