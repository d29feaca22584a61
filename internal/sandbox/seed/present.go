package seed

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/ledger"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// present is the world as JSON, with amounts in cents, times in milliseconds, and sealed
// URLs after the id of their endpoint. What a SELECT within it returns is a text to
// SQLite until json reads it.
const present = `
SELECT json_object(
  'random_seed', json(COALESCE((SELECT value FROM settings WHERE name = '` + randomSetting + `'), 0)),
  'clock', ?,
  'limits', json((SELECT value FROM settings WHERE name = 'limits')),
  'quirks', json((SELECT value FROM settings WHERE name = 'quirks')),
  'faults', json((SELECT json_group_array(json_remove(json_set(definition, '$.times', COALESCE(times_left, 0)), '$.id') ORDER BY id) FROM faults)),
  'accounts', json((SELECT json_group_array(json_object(
    'state', state,
    'wallet', COALESCE((SELECT p.amount FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id JOIN ledger_accounts l ON l.id = p.ledger_account_id
      WHERE e.account_id = a.id AND ` + ledger.Movements + ` AND e.kind = 'opening balance' AND l.kind = 'wallet'), 0),
    'deposits', json((SELECT json_group_array(json_object('currency', currency, 'amount', amount, 'status', status, 'at', created_at) ORDER BY id)
      FROM deposits WHERE account_id = a.id)),
    'cards', json((SELECT json_group_array(json_object(
      'label', NULLIF(label, ''), 'bin_id', bin_id,
      'amount', (SELECT amount FROM (` + moved + `AND e.kind = 'card issued')),
      'spending_limit', spending_limit, 'allowed_categories', json(allowed_categories), 'auto_freeze_at', auto_freeze_at, 'metadata', json(NULLIF(metadata, '{}')),
      'at', created_at, 'status', status,
      'status_at', CASE status WHEN 'active' THEN NULL ELSE (SELECT MAX(created_at) FROM status_changes WHERE card_id = c.id) END,
      'movements', json((SELECT json_group_array(json_object('amount', amount, 'at', created_at) ORDER BY id) FROM (` + moved + `AND e.kind IN ('card funded', 'card withdrawn')))),
      'purchases', json((SELECT json_group_array(json_object(
        'merchant', json_object('name', merchant_name, 'mcc', merchant_mcc), 'amount', amount, 'fee', NULLIF(fee, 0), 'at', created_at, 'declined', decline_reason,
        'settled', json((SELECT ` + money + ` FROM transactions f WHERE f.parent_id = t.id)),
        'refunds', json((SELECT json_group_array(` + money + ` ORDER BY f.id) FROM transactions s JOIN transactions f ON f.parent_id = s.id WHERE s.parent_id = t.id))) ORDER BY id)
        FROM transactions t WHERE card_id = c.id AND type IN ('authorization', 'decline'))),
      'challenges', json((SELECT json_group_array(json_object('merchant', merchant, 'amount', amount, 'status', NULLIF(challenges.status, 'pending'), 'at', challenges.expires_at - ?) ORDER BY id)
        FROM challenges WHERE card_id = c.id))) ORDER BY id)
      FROM cards c WHERE account_id = a.id)),
    'webhooks', json((SELECT json_group_array(json_object('url', public_id || ' ' || hex(url_sealed), 'events', json(events), 'at', created_at) ORDER BY id)
      FROM webhooks WHERE account_id = a.id))) ORDER BY id)
    FROM accounts a)))`

const (
	// moved selects what its owner moved onto a card c, or from it.
	moved = `SELECT p.amount, e.created_at, e.id FROM ledger_entries e JOIN ledger_postings p ON p.entry_id = e.id AND p.ledger_account_id = e.card_account_id
        WHERE e.card_account_id = c.ledger_account_id AND ` + ledger.Movements + ` `
	// money is a transaction f that follows another one.
	money = `json_object('amount', f.amount, 'fee', NULLIF(f.fee, 0), 'at', f.created_at)`
)

// write shows the present world as a file that begins it again, but for its secrets:
// keys, those of endpoints, and what follows the host in their URLs.
func write(c *server.Call) (wire.Response, error) {
	if err := control.FirstOnly(c, "reads the whole world"); err != nil {
		return wire.Response{}, err
	}
	world := store.Value[[]byte](c.Tx, present, c.Tx.Now().UnixMilli(), threeds.Lifetime.Milliseconds())
	w := writer{json.NewDecoder(bytes.NewReader(world)), c.Keys}
	w.UseNumber()
	document, err := w.node("")
	if err != nil {
		return wire.Response{}, err
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err = encoder.Encode(document)
	return wire.Response{Status: http.StatusOK, Body: text.Bytes(), ContentType: "application/yaml"}, err
}

// writer makes YAML of the present world.
type writer struct {
	*json.Decoder

	keys *vault.Keyring
}

// node is the next value, whose member has a name. It is nil where there is nothing to
// tell. What a client or a test chose as a whole stays as it is.
func (w writer) node(name string) (*yaml.Node, error) {
	token, err := w.Token()
	chosen := name == "metadata" || name == "then"
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch value := token.(type) {
	case json.Delim:
		return w.collection(name, value == '{', chosen)
	case json.Number:
		n.Value, err = number(name, value)
	case string:
		if name == "url" {
			value, err = w.host(value)
		}
		n.SetString(value)
	case nil:
		if !chosen {
			return nil, err
		}
		n.Value = "null"
	default:
		n.Value = fmt.Sprint(value)
	}
	return n, err
}

// collection is a list or a mapping, on one line if nothing in it is one.
func (w writer) collection(name string, mapping, chosen bool) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	if mapping {
		n.Kind = yaml.MappingNode
	}
	for w.More() {
		member := name
		if mapping {
			token, err := w.Token()
			if err != nil {
				return nil, err
			}
			member, _ = token.(string)
		}
		key := new(yaml.Node)
		key.SetString(member)
		if chosen {
			member = name
		}
		value, err := w.node(member)
		switch {
		case err != nil:
			return nil, err
		case value == nil:
			continue
		case mapping:
			n.Content = append(n.Content, key)
		}
		n.Content = append(n.Content, value)
		if value.Kind != yaml.ScalarNode && !chosen {
			n.Style = 0
		}
	}
	_, err := w.Token()
	if len(n.Content) == 0 && !chosen {
		return nil, err
	}
	return n, err
}

// number writes an amount or a time as a world has it.
func number(name string, value json.Number) (string, error) {
	switch name {
	case "amount", "fee", "wallet", "spending_limit", "auto_freeze_at":
		cents, err := value.Int64()
		return usd.Amount(cents).String(), err
	case "at", "status_at", "clock":
		ms, err := value.Int64()
		return wire.Timestamp(time.UnixMilli(ms)), err
	}
	return value.String(), nil
}

// host is all of an endpoint's URL that is no secret.
func (w writer) host(sealed string) (string, error) {
	id, text, _ := strings.Cut(sealed, " ")
	bytes, err := hex.DecodeString(text)
	if err != nil {
		return "", err
	}
	plain, err := w.keys.Open(vault.URLOfWebhook, id, bytes)
	if err != nil {
		return "", err
	}
	address, err := url.Parse(string(plain))
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: address.Scheme, Host: address.Host}).String(), nil
}
