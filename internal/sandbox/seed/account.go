package seed

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// resident is an account of the world; until it is there, the first one.
type resident struct {
	*planter
	account.Account

	begun *BegunAccount
}

// account plans an account with all that happened on it.
func (p *planter) account(a *mapping, first bool) {
	states := account.States()
	r := &resident{p, p.call.Account, &BegunAccount{Cards: []*named{}, Webhooks: []json.RawMessage{}}}
	p.begun.Accounts = append(p.begun.Accounts, r.begun)
	wallet, state := a.take("wallet"), a.word("state", states[0], states...)
	for _, d := range a.list("deposits") {
		r.deposit(d)
	}
	for _, c := range a.list("cards") {
		r.card(c)
	}
	// Endpoints come last: they are told of what is yet to happen.
	for _, w := range a.list("webhooks") {
		p.plan(w.time("at", p.now), lasting, func() error {
			var made json.RawMessage
			err := r.do(w, "POST "+server.API+"/webhooks", "", w.members, &made)
			r.begun.Webhooks = append(r.begun.Webhooks, made)
			return err
		})
	}
	a.done()
	p.plan(time.Time{}, opening, func() error { return r.open(a, first, wallet) })
	p.plan(p.now, lasting, func() error {
		p.call.Tx.Exec(`UPDATE accounts SET state = ? WHERE id = ?`, state, r.ID)
		return nil
	})
}

// open begins the account. The first one is there, and gets another balance, also
// after a reset.
func (r *resident) open(a *mapping, first bool, wallet any) (err error) {
	tx := r.call.Tx
	tx.SetNow(r.opening)
	if !first {
		fields := map[string]any{"state": account.Ready, "initial_balance": wallet}
		if err := r.do(a, "POST "+server.Control+"/accounts", "", fields, r.begun); err != nil {
			return err
		}
		r.Account, _ = account.ByKey(tx, r.begun.APIKey)
		return nil
	}
	r.begun.AccountID = r.PublicID
	if r.begun.APIKey, err = account.Key(tx, r.call.Keys, r.PublicID); err != nil {
		return err
	}
	if wallet != nil {
		fields := wire.Body{Raw: wire.Encode(map[string]any{"wallet": wallet})}.Fields("application/json")
		balance := fields.OptionalNotNegative("wallet")
		if err := fields.Done(); err != nil {
			return a.explained(err)
		}
		tx.Exec(`UPDATE service SET initial_balance = ?`, balance)
	}
	account.ResetFirst(tx)
	return nil
}

func (r *resident) deposit(d *mapping) {
	confirmed := d.word("status", "pending", "pending", "confirmed") == "confirmed"
	r.happen(d, arrival, time.Time{}, func() error {
		var made named
		err := r.do(d, "POST "+server.Control+"/deposits", "", d.members, &made)
		if err == nil && confirmed {
			err = r.do(d, "POST "+server.Control+"/deposits/{id}/confirm", made.ID, nil, nil)
		}
		return err
	})
}

// holder is a card of the world.
type holder struct {
	*resident
	named

	status string // in the end; "": what comes of it
	ended  bool   // has it
}

func (r *resident) card(c *mapping) {
	h := &holder{resident: r, status: c.word("status", "", "active", "frozen", "terminated")}
	end := &mapping{c.line, c.path + ".status_at", map[string]any{"at": c.take("status_at")}, c.mistake}
	movements, purchases, challenges := c.list("movements"), c.list("purchases"), c.list("challenges")
	issued := r.happen(c, issue, time.Time{}, func() error {
		r.begun.Cards = append(r.begun.Cards, &h.named)
		return r.do(c, "POST "+server.API+"/cards", "", c.members, &h.named)
	})
	for _, m := range movements {
		h.movement(m, issued)
	}
	for _, b := range purchases {
		h.purchase(b, issued)
	}
	for _, b := range challenges {
		h.challenge(b, issued)
	}
	if end.members["at"] == nil { // when all else has happened
		issued = r.now
	}
	r.happen(end, ending, issued, func() error { return h.end(end) })
}

// movement is money that the owner moved: above 0 onto the card, below 0 from it.
func (h *holder) movement(m *mapping, issued time.Time) {
	call, rank := "fund", issue
	amount, _ := m.members["amount"].(json.Number)
	if positive, negative := strings.CutPrefix(amount.String(), "-"); negative {
		call, rank = "withdraw", departure
		m.members["amount"] = json.Number(positive)
	}
	h.happen(m, rank, issued, func() error {
		return h.do(m, "POST "+server.API+"/cards/{card_id}/"+call, h.ID, m.members, nil)
	})
}

// recorded is what is needed of the responses of a merchant's calls.
type recorded struct {
	Transaction   named  `json:"transaction"`
	DeclineReason string `json:"decline_reason"`
}

// purchase is an authorization with what followed, or a decline.
func (h *holder) purchase(b *mapping, issued time.Time) {
	declined := b.word("declined", "", "card_frozen", "card_terminated", "insufficient_funds", "category_not_allowed", "spending_limit_exceeded")
	refunds := b.list("refunds")
	var made, follow recorded
	settled := b.take("settled")
	switch {
	case declined != "" && settled != nil:
		b.refuse("a declined purchase is not settled")
	case settled == nil && len(refunds) > 0:
		b.refuse("a refund without a settlement")
	}
	at := h.happen(b, purchase, issued, func() error {
		b.members["card_id"] = h.ID
		if err := h.authorize(b, declined == "card_frozen", &made); err != nil || made.DeclineReason == declined {
			return err
		}
		return b.refused("the purchase contradicts the rest: it was to be %s, and is %s", outcome(declined), outcome(made.DeclineReason))
	})
	if settled == nil {
		return
	}
	at = h.follow(b.mapped("settled", settled), "settlements", settlement, at, &made, &follow)
	for _, r := range refunds {
		h.follow(r, "refunds", refund, at, &follow, new(recorded))
	}
}

func outcome(declined string) string {
	if declined == "" {
		return "approved"
	}
	return "declined with " + declined
}

// follow is a settlement or a refund.
func (h *holder) follow(f *mapping, kind string, rank rank, since time.Time, of, made *recorded) time.Time {
	return h.happen(f, rank, since, func() error {
		f.members["transaction_id"] = of.Transaction.ID
		return h.do(f, "POST "+server.Control+"/"+kind, "", f.members, made)
	})
}

func (h *holder) challenge(b *mapping, issued time.Time) {
	const path = "POST " + server.Control + "/3ds-challenges"
	status := b.word("status", "", "approved", "failed")
	h.happen(b, challenge, issued, func() error {
		var made named
		b.members["card_id"] = h.ID
		err := h.do(b, path, "", b.members, &made)
		if err == nil && status != "" {
			err = h.do(b, path+"/{id}/complete", made.ID, map[string]any{"outcome": status}, nil)
		}
		return err
	})
}

// authorize uses the card. Where its last status is told, those before are not, and
// follow from what became of each purchase.
func (h *holder) authorize(b *mapping, frozen bool, made *recorded) error {
	call := func() error { return h.do(b, "POST "+server.Control+"/authorizations", "", b.members, made) }
	if h.ended || h.status == "" && !frozen {
		return call()
	}
	from, to := "frozen", "active"
	if frozen {
		from, to = to, from
	}
	const change = `UPDATE cards SET status = ? WHERE public_id = ? AND status = ?`
	h.call.Tx.Exec(change, to, h.ID, from)
	err := call()
	if err == nil && frozen {
		h.call.Tx.Exec(change, from, h.ID, to)
	}
	return err
}

// end gives the card its last status.
func (h *holder) end(c *mapping) error {
	const card = server.API + "/cards/{card_id}"
	route, found := map[string]string{
		"active": "POST " + card + "/unfreeze", "frozen": "POST " + card + "/freeze", "terminated": "DELETE " + card,
	}[h.status]
	if h.ended = found; !found {
		return nil
	}
	return h.do(c, route, h.ID, nil, nil)
}
