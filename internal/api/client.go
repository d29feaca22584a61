package api

import (
	"sync/atomic"

	"golang.org/x/sync/semaphore"

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
	c.cardLocks.locks, c.issues.locks.locks = map[string]*semaphore.Weighted{}, map[string]*semaphore.Weighted{}
	c.recent.cards = map[string]recentCard{}
	c.issues.baselines, c.issues.unresolved = map[string]*baseline{}, map[*issueReconciliation]bool{}
	way, err := transport.New(config, c.recent.isNew)
	if err != nil {
		return nil, err
	}
	c.Client, c.clock = way, way.Clock()
	return c, nil
}
