// Package transport sends requests to any endpoint of the service. It applies the configuration and
// the limits, and retries. For a read, it decodes the response. For a change, it reports whether each attempt
// took effect.
//
// It does not use go-retryablehttp. A retry here may have to read the account first, each attempt must respect
// the limits again, and a 429 response pauses every caller and does not count as a retry.
//
// These are its files in reading order. Each file uses only later ones:
//
//	mutation read request client outage redact config
//	call errors fate decode text
package transport
