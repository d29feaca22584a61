package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// TransactionType says what happened. Values that this client does not know are
// carried through.
type TransactionType string

// The documented types (API §2.2).
const (
	TransactionAuthorization TransactionType = "authorization"
	TransactionSettlement    TransactionType = "settlement"
	TransactionRefund        TransactionType = "refund"
	TransactionDecline       TransactionType = "decline"
)

// Transaction is one event in a card's spending.
type Transaction struct {
	ID        string          `json:"id"`
	CardID    string          `json:"card_id"`
	Type      TransactionType `json:"type"`
	Amount    usd.Amount      `json:"amount"` // in Currency
	Currency  string          `json:"currency"`
	Fee       usd.Amount      `json:"fee"` // in Currency
	Merchant  Merchant        `json:"merchant"`
	CreatedAt string          `json:"created_at"` // ISO 8601, UTC
	// Problem says why Amount or Fee could not be read; they are 0 then.
	Problem string `json:"-"`
}

// UnmarshalJSON reads a transaction whose amounts are finer than a cent as one
// with a problem, so that it does not hide the others.
func (t *Transaction) UnmarshalJSON(data []byte) error {
	type plain Transaction
	fields := struct {
		*plain
		Amount json.RawMessage `json:"amount"`
		Fee    json.RawMessage `json:"fee"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, amount := range map[string]struct {
		text json.RawMessage
		into *usd.Amount
	}{"amount": {fields.Amount, &t.Amount}, "fee": {fields.Fee, &t.Fee}} {
		if len(amount.text) == 0 {
			continue
		}
		if err := json.Unmarshal(amount.text, amount.into); err != nil {
			t.Problem = fmt.Sprintf("transaction %s has an %s that cannot be read: %v", t.ID, name, err)
		}
	}
	return nil
}

// Merchant is where a card was used.
type Merchant struct {
	Name string `json:"name"`
	MCC  string `json:"mcc"` // merchant category code
}

// TransactionFilter selects transactions; empty fields select all. From and To
// are inclusive, ISO 8601; a bare date is that whole UTC day.
type TransactionFilter struct {
	CardID string
	Type   TransactionType
	From   string
	To     string
}

// Transactions returns the transactions that the filter selects, newest first,
// each once, and ends with the first error. Transactions that arrive while it
// reads neither repeat nor hide another. However many there are, it holds some
// thousands of them at a time.
func (c *Client) Transactions(ctx context.Context, filter TransactionFilter) iter.Seq2[Transaction, error] {
	return func(yield func(Transaction, error) bool) {
		r := &transactionReader{client: c, filter: filter, ahead: 2}
		for next := 1; ; {
			pages, err := r.read(ctx, next)
			if err != nil {
				yield(Transaction{}, err)
				return
			}
			for _, page := range pages {
				unseen := r.seen.addPage(page)
				for _, transaction := range unseen {
					if transaction.Problem != "" {
						yield(Transaction{}, errors.New(transaction.Problem))
						return
					}
					if !yield(transaction, nil) {
						return
					}
				}
				if len(unseen) == 0 && !r.moving && len(page) > 0 {
					// A page's worth may have arrived since the page before.
					if err := r.watchFront(ctx); err != nil {
						yield(Transaction{}, err)
						return
					}
				}
				if len(page) == 0 || len(unseen) == 0 && !r.moving {
					return
				}
			}
			next += len(pages)
		}
	}
}

// transactionPage asks for full pages; a service may not know how.
func (c *Client) transactionPage(ctx context.Context, filter TransactionFilter, number int) ([]Transaction, error) {
	query := url.Values{"page": {strconv.Itoa(number)}, "per_page": {strconv.Itoa(maxPerPage)}}
	setQuery(query, "card_id", filter.CardID)
	setQuery(query, "type", string(filter.Type))
	setQuery(query, "from", filter.From)
	setQuery(query, "to", filter.To)
	var page []Transaction
	err := c.read(ctx, &call{
		operation: "list transactions", method: http.MethodGet, path: "/transactions", query: query,
		accept: func(body []byte) (err error) {
			page, _, err = decodeList[Transaction](body, "id", "type", "amount")
			return err
		},
	})
	if number > 1 && IsNotFound(err) {
		return nil, nil // past the end, in the words of some services
	}
	return page, err
}
