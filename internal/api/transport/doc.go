// Package transport sends requests to endpoints of the service. It respects the rate limits, repeats attempts that
// failed, and decodes responses. For a change, it also reports whether the change was made, was not made, or may have
// been made.
//
// It does not use go-retryablehttp. A retry here may have to read the account first, and it must respect the limits
// again. A 429 response of the service must pause other callers, too, and must not count as a retry.
package transport
