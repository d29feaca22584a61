// Package transport makes requests to the service, whatever their endpoint. It applies the configuration and
// the limits, and retries. For a read, it decodes the response. For a change, it reports the fate of each
// attempt.
//
// It does not use go-retryablehttp. A retry here may have to read the account first, each attempt must respect
// the limits again, and a 429 response pauses every caller and does not count as a retry.
//
// Its files in reading order; each uses those after it:
//
//	mutation read request client outage redact config
//	call errors fate decode text
package transport
