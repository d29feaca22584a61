package provider_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestTitles compares the table with the titles in the source. Scripts match them.
func TestTitles(t *testing.T) {
	t.Parallel()
	acctest.CheckTitles(t, []string{
		"A sandbox key for a foreign host",
		"Either the sandbox or an account",
		"Invalid duration",
		"No API key",
		"No service address",
		"Not a path",
		"Not a prefix of labels",
		"Not an API key of this service",
		"Not an amount",
		"Not expanded by Terraform",
		"Not the address of a proxy",
		"Not the address of a service",
		"Spaces around the API key",
		"The provider cannot be configured like this",
		"The sandbox cannot be opened",
		"The sandbox needs a file",
		"The vcard provider is not configured",
	})
}
