package vault_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

func keyring(t *testing.T) *vault.Keyring {
	t.Helper()
	keys := sandboxtest.Must(vault.New(bytes.Repeat([]byte{7}, 32)))
	return keys
}

func TestAShortMasterKey(t *testing.T) {
	t.Parallel()
	if _, err := vault.New([]byte("short")); err == nil {
		t.Error("a short master key was taken")
	}
}

func TestPANs(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	seen := map[string]bool{}
	for i := range 2000 {
		id := fmt.Sprint("card_", i)
		pan := keys.PAN(id)
		sum := 0
		for j := range len(pan) {
			d := int(pan[j] - '0')
			if j%2 == 0 {
				d *= 2
			}
			sum += d/10 + d%10
		}
		if len(pan) != 16 || pan[0] != '0' || sum%10 != 0 || seen[pan] || len(keys.CVV(id)) != 3 || len(keys.OTP(id)) != 6 {
			t.Fatalf("%s: number, code or one-time code of the wrong form", id)
		}
		seen[pan] = true
	}
}

// What a master key gives is the same in every release, whichever has begun the file.
func TestDerivedValues(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	secrets := keys.PAN("card_a") + keys.CVV("card_a") + keys.OTP("3ds_a") + keys.APIKey("acct_a")
	sandboxtest.Equal(t, "the digest of secrets", fmt.Sprintf("%x", sha256.Sum256([]byte(secrets))), "6372e9274aa3ffc037f520ed0adab4d2d06493e09279ba7a5bfd8728cf8a3488")
	sandboxtest.Equal(t, "an address", keys.DepositAddress("acct_a", "btc"), "sandbox-btc-baebd20257404b12e56a891964456543")
}

// What a seed made has the same codes under every master key, and nothing else has.
func TestCodesOfSeededIDs(t *testing.T) {
	t.Parallel()
	other := sandboxtest.Must(vault.New(vault.NewMasterKey()))
	for _, id := range []string{vault.Token("card_"), vault.SeededToken("card_", bytes.NewReader(make([]byte, 24)))} {
		sandboxtest.Equal(t, id+" has the same number under two master keys", keyring(t).PAN(id) == other.PAN(id), strings.HasPrefix(id, "card_0"))
	}
}
