package transport

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

// Client makes calls as one account. It is safe for concurrent use; its limits are shared
// by all calls.
type Client struct {
	config    Config // without the key
	base      string
	header    func(http.Header) // a closure, so that printing a client shows no key
	scrub     scrubber
	clock     ratelimit.Clock
	limits    *ratelimit.Limiter
	tellsTime atomic.Bool
	ahead     atomic.Int64 // by how many nanoseconds the service's clock is ahead, where it tells its time
	written   atomic.Bool
	breaker   breaker
	isNew     func(card string, sent time.Time) bool
}

// New returns a client. Its error is a *ConfigError. A card that isNew says was not shown
// yet when a request for it was sent is asked for again where the service does not find it.
func New(config Config, isNew func(card string, sent time.Time) bool) (*Client, error) {
	key := strings.TrimSpace(config.APIKey.Reveal())
	base, err := checkBaseURL(config.BaseURL, key)
	if err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	config.RequestTimeout = cmp.Or(max(0, config.RequestTimeout), DefaultRequestTimeout)
	config.Clock = cmp.Or[ratelimit.Clock](config.Clock, ratelimit.SystemClock{})
	config.APIKey = ""
	var secrets []string
	given, isOwn := config.Transport.(*http.Transport)
	if config.Transport == nil || isOwn {
		through := oneTry{given}
		if !isOwn {
			if through, err = newTransport(base, httpproxy.FromEnvironment()); err != nil {
				return nil, err
			}
		}
		config.Transport, secrets = through, through.secrets(base)
	}
	return &Client{
		config: config,
		base:   base,
		header: func(h http.Header) {
			h.Set("Authorization", "Bearer "+key)
			h.Set("Accept", "application/json")
			h.Set("User-Agent", config.UserAgent)
		},
		scrub:   newScrubber(key, base, secrets...),
		clock:   config.Clock,
		limits:  ratelimit.New(config.Clock, config.Limits),
		breaker: breaker{clock: config.Clock, outages: map[string]*outage{}},
		isNew:   isNew,
	}, nil
}

// Config is what the client was made by, with what a zero value stands for, less the key.
func (c *Client) Config() Config { return c.config }

// Clock is what the client tells the time by.
func (c *Client) Clock() ratelimit.Clock { return c.clock }

// HasWritten reports whether this client has begun a call that changes something.
func (c *Client) HasWritten() bool { return c.written.Load() }

// KeysHonoured reports whether the service is known to honour idempotency keys.
func (c *Client) KeysHonoured() bool { return c.config.KeysHonoured }

// String names the service and not the key.
func (c *Client) String() string { return "client of " + c.base }

// Deadline is when the own time of a call that begins now is over, by the client's clock:
// with the context's, where that is earlier.
func (c *Client) Deadline(ctx context.Context) time.Time {
	left := OperationTimeout
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return c.clock.Now().Add(left)
}

// ServiceTime is the time by the service's clock, as far as its responses tell.
func (c *Client) ServiceTime() time.Time {
	return c.clock.Now().Add(time.Duration(c.ahead.Load())).UTC()
}

// TellsTime reports whether a response has told the service's time.
func (c *Client) TellsTime() bool { return c.tellsTime.Load() }

// Redact takes keys, webhook secrets, numbers as long as a card's and what would move the
// cursor out of a text of this program, in which people and the service may have their
// say. A nil client does not know its key.
func (c *Client) Redact(text string) string {
	if c == nil {
		return newScrubber("", "").own(text)
	}
	return c.scrub.own(text)
}

// WithoutKeys takes keys and webhook secrets out of a text.
func (c *Client) WithoutKeys(text string) string { return c.scrub.known(&Call{}, text) }
