package card_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// The stories of cards, each in a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	acctest.Scripts(t, "testdata/script")
}

// What a run finds of the money that others have moved, with both settings of
// idempotency_keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"honoured", "unknown"} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			acctest.Scripts(t, "testdata/keys", "TF_VAR_keys="+keys)
		})
	}
}
