package api

import (
	"sync/atomic"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

// Config says which service a client talks to, as whom, and how patiently.
type Config = transport.Config

// Client talks to the service as one account. It is safe for concurrent use;
// its limits and what it has lately written are shared by all calls.
type Client struct {
	*transport.Client

	clock     ratelimit.Clock
	cardLocks lockTable
	issues    issueTracker
	recent    recent
	// transactionForm is how the service has last answered a list of transactions.
	transactionForm atomic.Int32
}

// New returns a client. Its error is a *ConfigError.
func New(config Config) (*Client, error) {
	c := &Client{}
	c.recent.cards = map[string]recentCard{}
	c.issues.baselines, c.issues.unresolved = map[string]*baseline{}, map[*issueReconciliation]bool{}
	way, err := transport.New(config, c.recent.isNew)
	if err != nil {
		return nil, err
	}
	c.Client, c.clock = way, way.Clock()
	return c, nil
}

// Redact takes keys, webhook secrets, numbers as long as a card's and what would move the
// cursor out of a text of this program. A nil client does not know its key.
func (c *Client) Redact(text string) string {
	if c == nil {
		return (*transport.Client)(nil).Redact(text)
	}
	return c.Client.Redact(text)
}
