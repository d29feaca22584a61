// Package transport makes calls to the service, whatever they ask for: from the settings and
// the limits to a response that was read or, of a change, to an attempt and its fate.
//
// The loops are our own and not go-retryablehttp's: a retry here may have to
// read the account first, a 429 does not count as a retry and pauses every caller,
// and each attempt passes the limits again.
//
// Its files, in the order in which they are read; each uses those after it:
//
//	mutation read request client outage redact config
//	call errors fate decode text
package transport
