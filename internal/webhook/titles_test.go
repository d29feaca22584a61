package webhook_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The titles of errors, by which tests recognize them.
const (
	titleNotHTTPS        = "Not an https address"
	titleNoEvents        = "No events"
	titleNullEvent       = "Null event"
	titleUnknownEvent    = "Unknown event"
	titleAllAndSingle    = "All events and single ones"
	titleTwoSecrets      = "Two secrets"
	titleSecretLines     = "More than a line"
	titleWithoutVersion  = "A write-only secret without its version"
	titleVersionAlone    = "A version without its write-only secret"
	titleNotAnEndpointID = "Not a webhook endpoint id"
)

// TestTitles compares the table with the titles in the source.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		titleNotHTTPS,
		titleNoEvents,
		titleNullEvent,
		titleUnknownEvent,
		titleAllAndSingle,
		titleTwoSecrets,
		titleSecretLines,
		titleWithoutVersion,
		titleVersionAlone,
		titleNotAnEndpointID,
		// warnings
		"A second webhook endpoint may have been registered",
		"The configuration of … is taken over without proof",
		"Webhook endpoint … is replaced and stays registered",
		"Webhook endpoint … stays registered",
	})
}
