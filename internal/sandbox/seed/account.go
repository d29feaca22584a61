package seed

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// accountBuilder makes an account of the world; until it is there, it is the first one.
type accountBuilder struct {
	*builder
	account.Account

	begun *BegunAccount
}

func (b *builder) account(place string, spec *accountSpec, first bool) {
	a := &accountBuilder{b, b.call.Account, &BegunAccount{Cards: []*named{}, Webhooks: []json.RawMessage{}}}
	b.begun.Accounts = append(b.begun.Accounts, a.begun)
	b.word(place, "state", spec.State, account.States()...)
	for i := range spec.Deposits {
		a.deposit(fmt.Sprintf("%s.deposits[%d]", place, i), &spec.Deposits[i])
	}
	for i := range spec.Cards {
		a.card(fmt.Sprintf("%s.cards[%d]", place, i), &spec.Cards[i])
	}
	// Endpoints come last: they are told of what is yet to happen.
	for i := range spec.Webhooks {
		a.endpoint(fmt.Sprintf("%s.webhooks[%d]", place, i), &spec.Webhooks[i])
	}
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

// open begins the account. The first one is there, and gets another balance, also
// after a reset.
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
