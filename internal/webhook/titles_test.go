package webhook_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The titles of errors, by which tests recognize them.
const (
	titleNotHTTPS        = "Invalid https address"
	titleNoEvents        = "No events"
	titleNullEvent       = "Null event"
	titleUnknownEvent    = "Unknown event"
	titleAllAndSingle    = "Wildcard must be the only event"
	titleTwoSecrets      = "secret and secret_wo are both set"
	titleSecretLines     = "Value has control characters"
	titleWithoutVersion  = "secret_wo requires secret_wo_version"
	titleVersionAlone    = "secret_wo_version requires secret_wo"
	titleNotAnEndpointID = "Invalid webhook endpoint id"
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
		titleWithoutVersion,
		titleVersionAlone,
		titleNotAnEndpointID,
		// warnings
		"Possible duplicate webhook endpoint",
		"Webhook adopted without verification",
		"Replaced webhook endpoint stays registered: …",
		"Webhook endpoint stays registered: …",
	})
}
