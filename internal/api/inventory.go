package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
)

// inventory is the last complete listing of an account's cards.
type inventory struct {
	fetching singleflight.Group

	mu    sync.Mutex
	began time.Time
	cards map[string]CardListItem
}

// Inventory lists all cards of the account, of every status, by id. The listing
// began after notBefore (by this machine's clock); callers who ask together share
// one. An incomplete listing is an error.
func (c *Client) Inventory(ctx context.Context, notBefore time.Time) (map[string]CardListItem, error) {
	for {
		c.inventory.mu.Lock()
		began, cards := c.inventory.began, c.inventory.cards
		c.inventory.mu.Unlock()
		if cards != nil && began.After(notBefore) {
			return cards, nil
		}
		shared := c.inventory.fetching.DoChan("", func() (_ any, err error) {
			defer crash.Catch(&err)
			return nil, c.fetchInventory(context.WithoutCancel(ctx))
		})
		select {
		case result := <-shared:
			if result.Err != nil {
				return nil, result.Err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *Client) fetchInventory(ctx context.Context) error {
	began := c.clock.Now()
	cards := map[string]CardListItem{}
	complete, err := c.walkCards(ctx, CardFilter{}, func(card CardListItem) bool {
		cards[card.ID] = card
		return true
	})
	if err != nil {
		return err
	}
	if !complete {
		return errors.New("list all cards: the pages do not hold as many cards as the service counts, or repeat")
	}
	c.inventory.mu.Lock()
	defer c.inventory.mu.Unlock()
	c.inventory.began, c.inventory.cards = began, cards
	return nil
}

// Now is the time by this client's clock.
func (c *Client) Now() time.Time { return c.clock.Now() }

// AwaitCard reads a card that the service may not show yet, for half a minute.
func (c *Client) AwaitCard(ctx context.Context, id string) (CardSummary, error) {
	const longest = 30 * time.Second
	for waited := time.Duration(0); ; waited += visibleDelay {
		card, err := c.GetCard(ctx, id)
		if !IsNotFound(err) || waited >= longest || c.clock.Wait(ctx, visibleDelay) != nil {
			return card, err
		}
	}
}
