//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

//go:embed fleet.tf
var fleetConfig string

// fleet is a number of cards that a service and a state agree on.
type fleet struct {
	*workspace
	bench     *bench
	cards     int // that Terraform manages at first
	latency   time.Duration
	variables map[string]string // of the configuration by now
}

// withFleet starts a service of its own, brings so many cards into it, and
// measures. One card comes through the provider, and all others directly, since
// the provider would keep to the limits of the service.
func (b *bench) withFleet(ctx context.Context, cards, frozen int, latency time.Duration, measure func(*fleet) error) error {
	w, err := b.workspace(fmt.Sprintf("fleet-%d-%d-%d", cards, frozen, latency.Milliseconds()), fleetConfig)
	if err != nil {
		return err
	}
	if w.service, err = startSandbox(ctx, b.program); err != nil {
		return err
	}
	defer w.service.Kill()
	f := &fleet{workspace: w, bench: b, cards: cards, latency: latency, variables: map[string]string{"fleet": strconv.Itoa(cards)}}
	if err := f.populate(ctx, frozen); err != nil {
		return fmt.Errorf("making the fleet: %w", err)
	}
	return measure(f)
}

func (f *fleet) populate(ctx context.Context, frozen int) error {
	if _, err := f.run(ctx, "apply", "-auto-approve", "-var=fleet=1"); err != nil {
		return err
	}
	others, err := f.service.issue(ctx, f.cards-1, frozen)
	if err != nil {
		return err
	}
	attributes := make([]object, len(others))
	for i, c := range others {
		attributes[i] = c.attributes()
	}
	if err := addToState(f.state(), attributes); err != nil {
		return err
	}
	return f.service.delay(ctx, f.latency)
}

// arguments set the variables on the command line.
func (f *fleet) arguments() []string {
	var all []string
	for name, value := range f.variables {
		all = append(all, "-var="+name+"="+value)
	}
	return all
}

// issuers is how many cards are issued side by side.
const issuers = 8

// card is what the service says of a card that it issues.
type card struct {
	ID        string `json:"id"`
	Last4     string `json:"last4"`
	Label     string `json:"label"`
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
	frozen    bool
}

// issue has the service issue cards as the configuration describes them, from
// the second one on, and freezes the last ones.
func (s *service) issue(ctx context.Context, count, frozen int) ([]card, error) {
	cards := make([]card, count)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(issuers)
	for i := range cards {
		group.Go(func() error {
			body := fmt.Sprintf(`{"bin_id": "bin_ads_visa_us", "amount": 60, "label": "campaign %d", "allowed_categories": ["advertising"], "metadata": {"team": "ads"}}`, 1+i)
			if err := s.call(ctx, http.MethodPost, "/cards", body, &cards[i]); err != nil {
				return err
			}
			if cards[i].frozen = i >= count-frozen; cards[i].frozen {
				return s.call(ctx, http.MethodPost, "/cards/"+cards[i].ID+"/freeze", "", nil)
			}
			return nil
		})
	}
	return cards, group.Wait()
}

// perPage is how many cards a page of the list shows at most (API §4.2).
const perPage = 100

// pages is how many pages of the card lists show all active and frozen cards.
func (s *service) pages(ctx context.Context) (pages int, err error) {
	for _, status := range []string{"active", "frozen"} {
		var list struct {
			Total int `json:"total"`
		}
		if err := s.call(ctx, http.MethodGet, "/cards?per_page=1&status="+status, "", &list); err != nil {
			return 0, err
		}
		pages += (list.Total + perPage - 1) / perPage
	}
	return pages, nil
}

// firstLoad is the default of the variable in fleet.tf.
const firstLoad = 60 * usd.Dollar

// attributes are those in which a card differs from the others in the state.
func (c card) attributes() object {
	own := object{
		"id": c.ID, "last4": c.Last4, "label": c.Label, "created_at": c.CreatedAt, "expires_at": c.ExpiresAt,
		"money_record": reconcile.IssuedRecord(firstLoad, time.Now()).Text(c.ID), // another card's counts as lost
	}
	if c.frozen {
		own["status"], own["frozen"] = "frozen", true
	}
	return own
}

// idList writes ids as a list of HCL.
func idList(cards []card) string {
	ids := make([]string, len(cards))
	for i, c := range cards {
		ids[i] = c.ID
	}
	list, _ := json.Marshal(ids) //nolint:errchkjson // texts can always be written
	return string(list)
}
