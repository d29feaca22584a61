package statement_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}
