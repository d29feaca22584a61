package sandboxtest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// BIN is a BIN that cards of every amount can be issued on.
const BIN = "bin_ads_visa_us"

// members is a JSON object with further members, each as its text.
func members(begin string, more []string) string {
	return "{" + strings.Join(append([]string{begin}, more...), ",") + "}"
}

// Issue issues a card and returns its id. More are members of the body.
func (c *Client) Issue(amount string, more ...string) string {
	c.T.Helper()
	return c.Post("/cards", members(fmt.Sprintf(`"bin_id":%q,"amount":%s`, BIN, amount), more)).OK(http.StatusCreated).Text("id")
}

// Freeze freezes a card.
func (c *Client) Freeze(card string) {
	c.T.Helper()
	c.Post("/cards/"+card+"/freeze", nil).OK(http.StatusOK)
}

// Terminate terminates a card.
func (c *Client) Terminate(card string) { c.T.Helper(); c.Delete("/cards/" + card).OK(http.StatusOK) }

// LiveCards returns all cards of the account that are not terminated, newest
// first of each status.
func (c *Client) LiveCards() []map[string]any {
	c.T.Helper()
	var live []map[string]any
	for _, status := range []string{"active", "frozen"} {
		for number := 1; ; number++ {
			page := c.Get(fmt.Sprintf("/cards?status=%s&per_page=100&page=%d", status, number)).OK(http.StatusOK).Data()
			if len(page) == 0 {
				break
			}
			live = append(live, page...)
		}
	}
	return live
}

// Wallet returns the whole cents of the wallet's balance.
func (c *Client) Wallet() usd.Amount {
	c.T.Helper()
	var wallet struct {
		Balance usd.Decimal `json:"balance"`
	}
	c.Get("/wallet/balance").Into(&wallet)
	cents, err := wallet.Balance.Floor()
	if err != nil {
		c.T.Fatal(err)
	}
	return cents
}

// Authorize uses a card at a merchant of a category. More are members of the body.
func (c *Client) Authorize(card, amount, mcc string, more ...string) Response {
	c.T.Helper()
	begin := fmt.Sprintf(`"card_id":%q,"amount":%s,"merchant":{"name":"Big Ads","mcc":%q}`, card, amount, mcc)
	return c.Post("/_sandbox/authorizations", members(begin, more))
}

// Settle settles an authorization, of "" its whole amount.
func (c *Client) Settle(authorization, amount string, more ...string) Response {
	c.T.Helper()
	return c.followUp("/_sandbox/settlements", authorization, amount, more)
}

// Refund refunds a settlement, of "" its whole amount.
func (c *Client) Refund(settlement, amount string, more ...string) Response {
	c.T.Helper()
	return c.followUp("/_sandbox/refunds", settlement, amount, more)
}

func (c *Client) followUp(path, transaction, amount string, more []string) Response {
	c.T.Helper()
	if amount != "" {
		more = append(more, `"amount":`+amount)
	}
	return c.Post(path, members(fmt.Sprintf(`"transaction_id":%q`, transaction), more))
}

// Advance moves the service's clock, by as much as "720h".
func (c *Client) Advance(by string) {
	c.T.Helper()
	c.Post("/_sandbox/clock", map[string]string{"advance": by}).OK(http.StatusOK)
}

// Unlimited takes the limits of calls away.
func (c *Client) Unlimited() {
	c.T.Helper()
	none := map[string]int{"requests_per_minute": 0, "requests_per_hour": 0, "creates_per_minute": 0, "details_per_minute": 0}
	c.Put("/_sandbox/limits", none).OK(http.StatusOK)
}

// Request is a call as the sandbox remembers it.
type Request struct{ Method, Path, Query string }

// Requests are the calls of the API that the sandbox remembers, the oldest first.
func (c *Client) Requests() []Request {
	c.T.Helper()
	var log struct{ Data []Request }
	c.Get("/_sandbox/requests?per_page=1000").Into(&log)
	return log.Data
}

// Fault sets a fault, which is sent as it is.
func (c *Client) Fault(fault any) Response {
	c.T.Helper()
	return c.Post("/_sandbox/faults", fault).OK(http.StatusCreated)
}

// Balanced fails the test when the ledger is not in order.
func (c *Client) Balanced() {
	c.T.Helper()
	if report := c.Get("/_sandbox/ledger").OK(http.StatusOK); report.Body["balanced"] != true {
		c.T.Errorf("the ledger is not balanced: %s", report.Raw)
	}
}
