package provider_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestTitles compares the table with the titles in the source. Scripts match them.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		"API key has surrounding whitespace",
		"Both sandbox and account are configured",
		"Invalid API key",
		"Invalid amount",
		"Invalid duration",
		"Invalid label prefix",
		"Invalid provider configuration",
		"Invalid proxy address",
		"Invalid sandbox path",
		"Invalid service address",
		"Missing API key",
		"Missing service address",
		"Provider is not configured",
		"Sandbox cannot be opened",
		"Sandbox key used with another host",
		"Sandbox must be stored in a file",
		"Sandbox path is not expanded",
	})
}
