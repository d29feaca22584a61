// Package transport sends requests to endpoints of the service. It respects the rate limits, repeats attempts that
// failed, and decodes responses. For a change, it also reports whether the change was made, was not made, or may have
// been made.
//
// It does not use go-retryablehttp. Before a retry, a caller may have to check whether the change was made. A retry must
// respect the limits again. A 429 response of the service must pause other callers, too, and the attempt after it must
// not count as a retry.
package transport
