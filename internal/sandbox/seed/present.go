package seed

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// write shows the present world as a file that begins it again, but for its secrets:
// keys, those of endpoints, and what follows the host in their URLs.
func write(c *server.Call) (wire.Response, error) {
	if err := control.FirstOnly(c, "reads the whole world"); err != nil {
		return wire.Response{}, err
	}
	w := writer{Call: c}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	w.keep(encoder.Encode(w.world()))
	return wire.Response{Status: http.StatusOK, Body: text.Bytes(), ContentType: "application/yaml"}, w.err
}

// writer reads the present world. The first failure is kept, and later reads return
// nothing.
type writer struct {
	*server.Call

	err error
}

func (w *writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}

// list is what a query selects, one below the other.
func (w *writer) list(scan func(store.Row) (*yaml.Node, error), query string, args ...any) (all []*yaml.Node) {
	if w.err == nil {
		all, w.err = store.Select(w.Tx, scan, query, args...)
	}
	return all
}

func (w *writer) get(dest []any, query string, args ...any) {
	if w.err == nil {
		_, w.err = w.Tx.Get(dest, query, args...)
	}
}

func (w *writer) world() *yaml.Node {
	var (
		random   uint64
		faults   []*yaml.Node
		accounts []*yaml.Node
	)
	now, err := w.Tx.Now()
	w.keep(err)
	w.keep(w.Tx.ReadSetting(randomSetting, &random))
	limits, err := behavior.ReadLimits(w.Tx)
	w.keep(err)
	quirks, err := behavior.ReadQuirks(w.Tx)
	w.keep(err)
	set, err := behavior.Faults(w.Tx)
	w.keep(err)
	for _, f := range set {
		node := scalar(f)
		node.Content = node.Content[2:] // without its id
		faults = append(faults, node)
	}
	all, _, err := account.List(w.Tx, wire.Page{Number: 1, Size: 1 << 30})
	w.keep(err)
	for _, a := range all {
		accounts = append(accounts, w.account(a))
	}
	return object("random_seed", random, "clock", now, "limits", limits, "quirks", quirks, "faults", faults, "accounts", accounts)
}

func (w *writer) account(a account.Account) *yaml.Node {
	var (
		wallet usd.Amount
		cards  []*yaml.Node
	)
	w.get([]any{&wallet}, `
		SELECT COALESCE(SUM(p.amount), 0) FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id
		JOIN ledger_accounts l ON l.id = p.ledger_account_id
		WHERE e.account_id = ? AND e.kind = 'opening balance' AND l.kind = 'wallet'`, a.ID)
	deposits := w.list(func(row store.Row) (*yaml.Node, error) {
		var (
			currency, status string
			amount           usd.Amount
			at               moment
		)
		err := row.Scan(&currency, &amount, &status, &at)
		return object("currency", currency, "amount", amount, "status", status, "at", at.time()), err
	}, `SELECT currency, amount, status, created_at FROM deposits WHERE account_id = ? ORDER BY id`, a.ID)
	rows, err := store.Select(w.Tx, func(row store.Row) (id int64, err error) { return id, row.Scan(&id) },
		`SELECT id FROM cards WHERE account_id = ? ORDER BY id`, a.ID)
	w.keep(err)
	for _, row := range rows {
		cards = append(cards, w.card(row))
	}
	webhooks := w.list(w.webhook, `SELECT public_id, url_sealed, events, created_at FROM webhooks WHERE account_id = ? ORDER BY id`, a.ID)
	return object("state", string(a.State), "wallet", wallet, "deposits", deposits, "cards", cards, "webhooks", webhooks)
}

func (w *writer) webhook(row store.Row) (*yaml.Node, error) {
	var (
		id             string
		sealed, events []byte
		at             moment
	)
	if err := row.Scan(&id, &sealed, &events, &at); err != nil {
		return nil, err
	}
	plain, err := w.Keys.Open(vault.URLOfWebhook, id, sealed)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(string(plain))
	if err != nil {
		return nil, err
	}
	shown := url.URL{Scheme: address.Scheme, Host: address.Host}
	return object("url", shown.String(), "events", json.RawMessage(events), "at", at.time()), nil
}

func (w *writer) card(id int64) *yaml.Node {
	var (
		label, bin, status   string
		ledgerAccount        int64
		limit, amount        usd.Amount
		threshold            *usd.Amount
		categories, metadata []byte
		issued, changed      moment
		since                any // of another status than the first
	)
	w.get([]any{&label, &bin, &ledgerAccount, &limit, &categories, &threshold, &metadata, &issued, &status, &changed, &amount}, `
		SELECT label, bin_id, ledger_account_id, spending_limit, allowed_categories, auto_freeze_at, metadata, created_at, status,
		       (SELECT COALESCE(MAX(created_at), 0) FROM status_changes WHERE card_id = c.id),
		       (SELECT p.amount FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.ledger_account_id = c.ledger_account_id
		        WHERE e.card_account_id = c.ledger_account_id AND e.kind = 'card issued')
		FROM cards c WHERE id = ?`, id)
	if status != "active" {
		since = changed.time()
	}
	movements := w.list(money, `
		SELECT p.amount, 0, e.created_at FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.ledger_account_id = e.card_account_id
		WHERE e.card_account_id = ? AND e.kind IN ('card funded', 'card withdrawn') ORDER BY e.id`, ledgerAccount)
	challenges := w.list(func(row store.Row) (*yaml.Node, error) {
		var (
			merchant, status string
			amount           usd.Amount
			expires          moment
		)
		err := row.Scan(&merchant, &amount, &status, &expires)
		return object("merchant", merchant, "amount", amount, "status", status, "at", expires.time().Add(-threeds.Lifetime)), err
	}, `SELECT merchant, amount, REPLACE(status, 'pending', ''), expires_at FROM challenges WHERE card_id = ? ORDER BY id`, id)
	return object("label", label, "bin_id", bin, "amount", amount, "spending_limit", limit,
		"allowed_categories", json.RawMessage(categories), "auto_freeze_at", threshold, "metadata", json.RawMessage(metadata),
		"at", issued.time(), "status", status, "status_at", since,
		"movements", movements, "purchases", w.purchases(id), "challenges", challenges)
}

func (w *writer) purchases(cardID int64) []*yaml.Node {
	var ids []int64
	purchases := w.list(func(row store.Row) (*yaml.Node, error) {
		var (
			id                  int64
			amount, fee         usd.Amount
			at                  moment
			name, mcc, declined string
		)
		err := row.Scan(&id, &amount, &fee, &at, &name, &mcc, &declined)
		ids = append(ids, id)
		return object("merchant", map[string]string{"name": name, "mcc": mcc}, "amount", amount, "fee", unless(fee), "at", at.time(),
			"declined", declined), err
	}, `SELECT id, amount, fee, created_at, merchant_name, merchant_mcc, COALESCE(decline_reason, '') FROM transactions
		WHERE card_id = ? AND type IN ('authorization', 'decline') ORDER BY id`, cardID)
	for i, purchase := range purchases {
		settled := w.list(money, `SELECT amount, fee, created_at FROM transactions WHERE parent_id = ?`, ids[i])
		refunds := w.list(money, `
			SELECT r.amount, r.fee, r.created_at FROM transactions s JOIN transactions r ON r.parent_id = s.id
			WHERE s.parent_id = ? ORDER BY r.id`, ids[i])
		if len(settled) > 0 {
			purchase.Content = append(purchase.Content, object("settled", settled[0], "refunds", refunds).Content...)
		}
	}
	return purchases
}

// money scans an amount with its fee and time.
func money(row store.Row) (*yaml.Node, error) {
	var (
		amount, fee usd.Amount
		at          moment
	)
	err := row.Scan(&amount, &fee, &at)
	return object("amount", amount, "fee", unless(fee), "at", at.time()), err
}

// unless is an amount, nil where it is 0.
func unless(a usd.Amount) *usd.Amount {
	if a == 0 {
		return nil
	}
	return &a
}

// moment is a time as the file holds it, in Unix milliseconds.
type moment int64

func (m moment) time() time.Time { return time.UnixMilli(int64(m)) }

// object is a mapping of names and values in their order, without those that are not there.
func object(pairs ...any) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for pair := range slices.Chunk(pairs, 2) {
		if value := scalar(pair[1]); value != nil {
			node.Content = append(node.Content, scalar(pair[0]), value)
		}
	}
	return node
}

// scalar is a value as a node: an amount and a time without quotes, a list one below
// the other, and all else as its JSON. It is nil where there is nothing.
func scalar(value any) *yaml.Node {
	switch value := value.(type) {
	case *yaml.Node:
		return value
	case []*yaml.Node:
		if len(value) == 0 {
			return nil
		}
		return &yaml.Node{Kind: yaml.SequenceNode, Content: value}
	case time.Time:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: wire.Timestamp(value)}
	case string:
		if value == "" {
			return nil
		}
		node := new(yaml.Node)
		node.SetString(value)
		return node
	}
	var document yaml.Node
	if err := yaml.Unmarshal(wire.Encode(value), &document); err != nil || document.Content[0].Tag == "!!null" {
		return nil
	}
	return document.Content[0]
}
