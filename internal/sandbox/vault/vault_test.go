package vault_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"golang.org/x/crypto/sha3"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

func keyring(t *testing.T) *vault.Keyring {
	t.Helper()
	keys, err := vault.New(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestNewRefusesShortKeys(t *testing.T) {
	t.Parallel()
	if _, err := vault.New([]byte("short")); err == nil {
		t.Error("a short master key was taken")
	}
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	sealed := keys.Seal([]byte("secret"))
	if bytes.Contains(sealed, []byte("secret")) || bytes.Equal(sealed, keys.Seal([]byte("secret"))) {
		t.Error("sealing does not hide")
	}
	if plain, err := keys.Open(sealed); err != nil || string(plain) != "secret" {
		t.Errorf("opened %q, %v", plain, err)
	}
	other, err := vault.New(vault.NewMasterKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(sealed); err == nil {
		t.Error("another master key opens")
	}
	sealed[len(sealed)-1] ^= 1
	for _, bad := range [][]byte{sealed, sealed[:5], nil} {
		if _, err := keys.Open(bad); err == nil {
			t.Errorf("%x opens", bad)
		}
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

// TestDepositAddressesAreRefused checks each address as a wallet would.
func TestDepositAddressesAreRefused(t *testing.T) {
	t.Parallel()
	keys := keyring(t)
	for i := range 200 {
		account := fmt.Sprint("acct_", i)
		for form, valid := range map[vault.AddressForm]func(string) (wellFormed, valid bool){
			vault.FormSegwitBitcoin:  func(a string) (bool, bool) { return segwit(a, "bc") },
			vault.FormSegwitLitecoin: func(a string) (bool, bool) { return segwit(a, "ltc") },
			vault.FormEVM:            evm,
			vault.FormTron:           tron,
			vault.FormSolana:         solana,
		} {
			address := keys.DepositAddress(form, account, "x")
			if wellFormed, accepted := valid(address); !wellFormed || accepted {
				t.Errorf("%s: well formed %t, accepted %t", address, wellFormed, accepted)
			}
			if address != keys.DepositAddress(form, account, "x") || address == keys.DepositAddress(form, account, "y") {
				t.Errorf("%s is not one currency's alone", address)
			}
		}
	}
}

func segwit(address, prefix string) (bool, bool) {
	const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	data, found := strings.CutPrefix(address, prefix+"1q")
	if !found || len(data) != 38 || strings.Trim(data, alphabet) != "" {
		return false, false
	}
	// The checksum as a remainder over GF(32), by the reference's rule.
	check := uint64(1)
	step := func(v uint64) {
		top := check >> 25
		check = (check&0x1ffffff)<<5 ^ v
		for i, g := range []uint64{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			check ^= g * (top >> i & 1)
		}
	}
	for _, c := range prefix {
		step(uint64(c) >> 5)
	}
	step(0)
	for _, c := range prefix {
		step(uint64(c) & 31)
	}
	for _, c := range "q" + data {
		step(uint64(strings.IndexRune(alphabet, c)))
	}
	return true, check == 1
}

func evm(address string) (bool, bool) {
	digits, found := strings.CutPrefix(address, "0x")
	lower := strings.ToLower(digits)
	if _, err := hex.DecodeString(digits); !found || err != nil || len(digits) != 40 || digits == lower || digits == strings.ToUpper(digits) {
		return false, false
	}
	hash := sha3.NewLegacyKeccak256()
	hash.Write([]byte(lower))
	digest := hex.EncodeToString(hash.Sum(nil))
	for i := range digits {
		if lower[i] >= 'a' && (digest[i] >= '8') != (digits[i] < 'a') {
			return true, false
		}
	}
	return true, true
}

func decodeBase58(text string) (*big.Int, bool) {
	const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	n := new(big.Int)
	for _, c := range text {
		i := strings.IndexRune(alphabet, c)
		if i < 0 {
			return nil, false
		}
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(i)))
	}
	return n, true
}

func tron(address string) (bool, bool) {
	n, ok := decodeBase58(address)
	if !ok || len(address) != 34 || address[0] != 'T' {
		return false, false
	}
	data := n.FillBytes(make([]byte, 25))
	first := sha256.Sum256(data[:21])
	second := sha256.Sum256(first[:])
	return data[0] == 0x41, bytes.Equal(second[:4], data[21:])
}

func solana(address string) (bool, bool) {
	n, ok := decodeBase58(address)
	if !ok {
		return false, false
	}
	return len(address) == 44, n.BitLen() <= 256
}
