// Package transport is the way of a call to the service, whatever it asks for: from the
// settings and the limits to a response that was read, or to what is known of a change.
//
// The loops are our own and not go-retryablehttp's: a retry here may have to
// read the account first, a 429 does not count as a retry and pauses every caller,
// and each attempt passes the limits again.
//
// Its files, in the order in which they are read; each uses those after it:
//
//	mutate mutation read request client outage redact config
//	call errors fate decode text
package transport
