// Package api is the client of the virtual-card issuing service. After a network failure, it reports whether a change
// was made and how the client knows, or that the outcome is unknown.
//
// All attempts of a change share one idempotency key. After a lost response, a client that is configured for a service
// that honours keys may repeat the request with that key. Otherwise, the client first checks, with a read, whether the
// service shows the change. The registration of a webhook may be repeated without a read, because the API cannot list
// webhooks. BeginMove prepares a movement of money, which its caller must verify.
package api
