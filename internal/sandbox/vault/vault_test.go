package vault_test

import (
	"bytes"
	"fmt"
	"regexp"
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

func TestDepositAddresses(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	form := regexp.MustCompile(`^sandbox-x-[0-9a-f]{32}$`)
	seen := map[string]bool{}
	for i := range 200 {
		account := fmt.Sprint("acct_", i)
		address := keys.DepositAddress(account, "x")
		if !form.MatchString(address) || seen[address] || address != keys.DepositAddress(account, "x") {
			t.Errorf("%s: of the wrong form, not one account's alone, or not stable", address)
		}
		seen[address] = true
		other, _ := strings.CutPrefix(keys.DepositAddress(account, "y"), "sandbox-y-")
		if strings.HasSuffix(address, other) {
			t.Errorf("%s is not one currency's alone", address)
		}
	}
}

// What a seed made has the same codes under every master key, and nothing else has.
func TestCodesOfSeededIDs(t *testing.T) {
	t.Parallel()
	other := sandboxtest.Must(vault.New(vault.NewMasterKey()))
	for _, id := range []string{vault.Token("card_"), vault.SeededToken("card_", bytes.NewReader(make([]byte, 24)))} {
		sandboxtest.Equal(t, id+" has the same number under two master keys", keyring(t).PAN(id) == other.PAN(id), strings.HasPrefix(id, "card_0"))
	}
}
