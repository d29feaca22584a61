package api

import (
	"context"
	"net/http"
)

// read makes a call that changes nothing, again and again where that may help.
// A 429 does not count as a try.
func (c *Client) read(ctx context.Context, x *call) error {
	deadline := c.deadline(ctx)
	for try, retries := 1, 0; ; try++ {
		f := c.exchange(ctx, ctx, x, "", try, deadline)
		switch {
		case f == nil:
			return nil
		case f.permanent, f.class == refused:
			return f.err
		case f.class == rateLimited:
			if c.limits.pausedPast(deadline) {
				return f.err
			}
			continue
		case f.status >= 300 && f.status < 400, f.status == http.StatusConflict, retries == c.maxRetries:
			return f.err
		}
		retries++
		if err := c.backOff(ctx, retries, f.asked); err != nil {
			return f.err
		}
	}
}
