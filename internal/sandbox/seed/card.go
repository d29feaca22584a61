package seed

import (
	"fmt"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

type cardBuilder struct {
	*accountBuilder
	named

	status string // in the end; "": what comes of it
	ended  bool   // has it
}

func (a *accountBuilder) card(place string, spec *cardSpec) {
	c := &cardBuilder{accountBuilder: a, status: spec.Status}
	a.word(place, "status", spec.Status, "active", "frozen", "terminated")
	issued := a.happen(place, spec.At, issue, time.Time{}, func() error {
		a.begun.Cards = append(a.begun.Cards, &c.named)
		return a.do(place, "POST "+server.API+"/cards", "", spec, &c.named)
	})
	for i := range spec.Movements {
		c.movement(fmt.Sprintf("%s.movements[%d]", place, i), &spec.Movements[i], issued)
	}
	for i := range spec.Purchases {
		c.purchase(fmt.Sprintf("%s.purchases[%d]", place, i), &spec.Purchases[i], issued)
	}
	for i := range spec.Challenges {
		c.challenge(fmt.Sprintf("%s.challenges[%d]", place, i), &spec.Challenges[i], issued)
	}
	if spec.StatusAt.IsZero() { // when all else has happened
		issued = a.now
	}
	a.happen(place+".status_at", spec.StatusAt, ending, issued, func() error { return c.end(place) })
}

func (c *cardBuilder) movement(place string, m *movementSpec, issued time.Time) {
	call, rank := "fund", issue
	if positive, negative := strings.CutPrefix(string(m.Amount), "-"); negative {
		call, rank = "withdraw", departure
		m.Amount = value(positive)
	}
	c.happen(place, m.At, rank, issued, func() error {
		return c.do(place, "POST "+server.API+"/cards/{card_id}/"+call, c.ID, m, nil)
	})
}

type recorded struct {
	Transaction   named  `json:"transaction"`
	DeclineReason string `json:"decline_reason"`
}

// purchase is an authorization with what followed, or a decline.
func (c *cardBuilder) purchase(place string, p *purchaseSpec, issued time.Time) {
	c.word(place, "declined", p.Declined,
		"card_frozen", "card_terminated", "insufficient_funds", "category_not_allowed", "spending_limit_exceeded")
	switch {
	case p.Declined != "" && p.Settled != nil:
		c.refuse(place, "a declined purchase is not settled")
	case p.Settled == nil && len(p.Refunds) > 0:
		c.refuse(place, "a refund without a settlement")
	}
	var made, followed recorded
	at := c.happen(place, p.At, purchase, issued, func() error {
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
	for i := range p.Refunds {
		c.followUp(fmt.Sprintf("%s.refunds[%d]", place, i), &p.Refunds[i], "refunds", refund, at, &followed, new(recorded))
	}
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

func (c *cardBuilder) challenge(place string, s *challengeSpec, issued time.Time) {
	const path = "POST " + server.Control + "/3ds-challenges"
	c.word(place, "status", s.Status, "approved", "failed")
	c.happen(place, s.At, challenge, issued, func() error {
		var made named
		s.CardID = c.ID
		err := c.do(place, path, "", s, &made)
		if err == nil && s.Status != "" {
			err = c.do(place, path+"/{id}/complete", made.ID, map[string]string{"outcome": s.Status}, nil)
		}
		return err
	})
}

// authorize uses the card. Where its last status is told, those before are not, and
// follow from what became of each purchase.
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
