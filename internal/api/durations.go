package api

import "time"

// What a zero Config stands for.
const (
	// DefaultRequestTimeout is what the slowest issuance may take.
	DefaultRequestTimeout = time.Minute
	// DefaultOperationTimeout is enough for an exhausted hourly budget to come free.
	DefaultOperationTimeout = 70 * time.Minute
	// DefaultCommitWait is longer than a service works on a request that its caller
	// has given up.
	DefaultCommitWait = 30 * time.Second
)

// What a service may show late.
const (
	// HiddenFor is how long a card that somebody has issued is not called gone.
	HiddenFor = 10 * time.Minute
	// shownWithin is how long a service may take to show, and to list, a new card.
	shownWithin = time.Minute
	// statusShownWithin is shorter, since others may change a status too.
	statusShownWithin = 10 * time.Second
	// shownAgainAfter is the time between two readings of what is one row of a table.
	shownAgainAfter = 2 * time.Second
	// lookAgainAfter is longer, since a list or a booking may be behind a queue.
	lookAgainAfter = 5 * time.Second
)

// How long a call tries.
const (
	// firstDelay spares a service that has failed; each further one is twice as long.
	firstDelay = 500 * time.Millisecond
	// longestDelay keeps a call from sleeping through a service's return.
	longestDelay = 30 * time.Second
	// longestRetryAfter is how long one call follows the service's wish by itself.
	longestRetryAfter = time.Minute
	// longestTrying bounds what a person sits through: a read that a 429 holds up, and
	// asking for a lost response under the same key.
	longestTrying = 10 * time.Minute
)

// The transport's. A request's own time bounds the rest.
const (
	connectTime = 15 * time.Second // to connect, and again for TLS
	keepAlive   = 30 * time.Second // below what routers forget a connection after
	idleTime    = 90 * time.Second // of a connection kept for the next call
)
