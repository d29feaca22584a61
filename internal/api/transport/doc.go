// Package transport sends requests to any endpoint of the service. It applies the configuration and
// the limits, retries, and passes the response to the caller's decoder. For a change, it also reports whether
// the change was made, was not made, or may have been made.
//
// It does not use go-retryablehttp. A retry here may have to read the account first, and each attempt must respect
// the limits again. A 429 response of the service must pause other callers, too, and must not count as a retry.
//
// These are its files in reading order. Each file uses only later ones:
//
//	mutation read request client outage redact config
//	call errors fate decode text
package transport
