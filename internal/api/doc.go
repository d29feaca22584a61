// Package api is the client of the virtual-card issuing service: one method for
// each of its endpoints, exact amounts, and what matters most when the network
// fails: whether a change was made, and what that is known from.
//
// Every call keeps to the service's documented limits by itself. Reads are
// repeated when their response is lost. A mutation carries one idempotency key in
// all of its attempts. When its response is lost and keys are honoured, the client sends it
// again under the same key. Otherwise it reads what the service shows, and sends again only
// what was not made. Movements of money are begun
// here; package transfer makes them.
//
// One attempt is below, in transport; here are the endpoints.
//
// Its files, in the order in which they are read; each uses those after it:
//
//	bins webhooks threeds
//	issue issue_search
//	wallet money
//	transactions transaction
//	cards_state cards_walk cards
//	client how card
package api
