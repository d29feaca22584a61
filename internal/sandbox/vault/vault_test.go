package vault_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

func keyring(t *testing.T) *vault.Keyring {
	t.Helper()
	return sandboxtest.Must(vault.New(bytes.Repeat([]byte{7}, 32)))
}

func TestShortMasterKey(t *testing.T) {
	t.Parallel()
	_, err := vault.New([]byte("short"))
	if err == nil {
		t.Error("New accepted a short master key")
	}
}

func TestPANs(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	seen := map[string]bool{}
	for i := range 2000 {
		id := fmt.Sprint("card_", i)
		pan := keys.PAN(id)
		sum := 0 // of the Luhn algorithm
		for j := range len(pan) {
			digit := int(pan[j] - '0')
			if j%2 == 0 {
				digit *= 2
			}
			sum += digit/10 + digit%10
		}
		if len(pan) != 16 || pan[0] != '0' || sum%10 != 0 {
			t.Fatalf("%s: the number has the wrong form", id)
		}
		if seen[pan] {
			t.Fatalf("%s: another card has the same number", id)
		}
		seen[pan] = true
		if len(keys.CVV(id)) != 3 {
			t.Fatalf("%s: the security code has the wrong length", id)
		}
		if len(keys.OTP(id)) != 6 {
			t.Fatalf("%s: the one-time code has the wrong length", id)
		}
	}
}

// The values that are derived from a master key are the same in every release.
func TestDerivedValues(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	secrets := keys.PAN("card_a") + keys.CVV("card_a") + keys.OTP("3ds_a") + keys.APIKey("acct_a")
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(secrets)))
	sandboxtest.Equal(t, "the digest of the secrets", digest, "6372e9274aa3ffc037f520ed0adab4d2d06493e09279ba7a5bfd8728cf8a3488")
	sandboxtest.Equal(t, "the address", keys.DepositAddress("acct_a", "btc"), "sandbox-btc-baebd20257404b12e56a891964456543")
}

// The number of a card with a seeded id does not depend on the master key. Other numbers do.
func TestCodesOfSeededIDs(t *testing.T) {
	t.Parallel()
	other := sandboxtest.Must(vault.New(vault.NewMasterKey()))
	random := vault.Token("card_")
	sandboxtest.Equal(t, "a random id has the same number under two master keys", keyring(t).PAN(random) == other.PAN(random), false)
	seeded := vault.SeededToken("card_", bytes.NewReader(make([]byte, 24)))
	sandboxtest.Equal(t, "a seeded id has the same number under two master keys", keyring(t).PAN(seeded) == other.PAN(seeded), true)
}
