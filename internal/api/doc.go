// Package api is the client of the virtual-card issuing service. It has methods for all endpoints, and its amounts
// are exact. After a network failure, it reports whether a change was made and how the client knows, or that the
// outcome is unknown.
//
// Every call respects the service's documented limits, or the configured ones. Reads are retried after a lost
// response. All attempts of a mutation have the same idempotency key. After a lost response, the client sends the
// mutation again with that key if it is configured for a service that honours keys. Otherwise, it reads what the
// service shows, and sends the mutation again only if it was not made. The registration of a webhook is sent again in
// both cases, because no read shows it. This package prepares movements of money, and package transfer makes them.
//
// Package transport sends the requests and retries them.
//
// These are the files of package api in reading order. Each file uses only later ones, with two exceptions: client
// contains the issueTracker of issue_search, and issue_search uses the IssueCardRequest of issue.
//
//	bins webhooks threeds
//	issue issue_search
//	wallet money
//	transactions transaction
//	cards_state cards_walk cards
//	client how card
package api
