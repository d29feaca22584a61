package api

import (
	"context"
	"fmt"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// cardSnapshot is a card's balance together with its transactions at that moment.
type cardSnapshot struct {
	balance usd.Amount
	steady  bool // the balance was the same before and after the transactions were read
	newest  string
	since   spending
}

// spending sums up what transactions did to a card's balance, in USD.
type spending struct {
	spent   usd.Amount // authorizations less refunds
	fees    usd.Amount
	unclear string // why the sum cannot be relied on; empty when it can
}

// snapshot reads the balance, the transactions, and the balance again, until
// both agree. Given a transaction it sums up what came after it, else it only
// notes which is the newest.
func (c *Client) snapshot(ctx context.Context, id string, after *string) (cardSnapshot, error) {
	const attempts = 3
	var s cardSnapshot
	card, err := c.GetCard(ctx, id)
	for range attempts {
		if err != nil {
			return s, err
		}
		s.balance = card.Balance
		if after == nil {
			s.newest, err = c.newestTransaction(ctx, id)
		} else {
			s.since, err = c.transactionsSince(ctx, id, *after)
		}
		if err != nil {
			return s, err
		}
		if card, err = c.GetCard(ctx, id); err == nil && card.Balance == s.balance {
			s.steady = true
			return s, nil
		}
	}
	return s, err
}

// newestTransaction returns the id of a card's newest transaction, or "".
func (c *Client) newestTransaction(ctx context.Context, id string) (string, error) {
	for transaction, err := range c.Transactions(ctx, TransactionFilter{CardID: id}) {
		return transaction.ID, err
	}
	return "", nil
}

// transactionsSince sums up the transactions of a card that are newer than the
// one named; "" stands for the time before the first.
func (c *Client) transactionsSince(ctx context.Context, id, after string) (spending, error) {
	var sum spending
	for transaction, err := range c.Transactions(ctx, TransactionFilter{CardID: id}) {
		if err != nil {
			return sum, err
		}
		if transaction.ID == after {
			return sum, nil
		}
		amount := max(transaction.Amount, -transaction.Amount)
		sum.fees += max(transaction.Fee, -transaction.Fee)
		switch {
		case transaction.Currency != "" && transaction.Currency != "USD":
			sum.unclear = fmt.Sprintf("transaction %s is in %s", transaction.ID, transaction.Currency)
		case transaction.Type == TransactionAuthorization:
			sum.spent += amount
		case transaction.Type == TransactionRefund:
			sum.spent -= amount
		case transaction.Type == TransactionDecline:
		default:
			sum.unclear = fmt.Sprintf("transaction %s (%s) came in between, of which only the service knows what it did to the balance", transaction.ID, transaction.Type)
		}
	}
	if after != "" {
		sum.unclear = fmt.Sprintf("transaction %s is no longer listed", after)
	}
	return sum, nil
}
