// Package api is the client of the virtual-card issuing service: one method for
// each of its endpoints, exact amounts, and an answer to the question that
// matters most when the network fails, namely whether money has moved.
//
// Every call keeps to the service's documented limits by itself. Reads are
// repeated when their answer is lost. A call that changes something carries one
// idempotency key in all of its tries; when its answer is lost, the client
// waits, looks at what the service shows, and only then tries again.
//
// The loops are our own and not go-retryablehttp's: a retry here may have to
// look at the account first, refusals for pace do not count as tries and pause
// every caller, and each try passes the limits again.
package api
