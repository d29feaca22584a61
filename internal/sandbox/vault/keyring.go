// Package vault derives the secrets of a sandbox from its master key, so that none is stored, and generates ids.
package vault

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// KeyPrefix is the prefix of every API key of a sandbox. Keys of the real service do not have it.
const KeyPrefix = "sk_live_sandbox_"

// masterKeySize is in bytes.
const masterKeySize = 32

// Keyring derives secrets. It is safe for concurrent use.
type Keyring struct{ derive []byte }

// NewMasterKey returns a random master key for a new file.
func NewMasterKey() []byte {
	key := make([]byte, masterKeySize)
	_, _ = rand.Read(key) // it never returns an error
	return key
}

// New returns the keyring of a master key.
func New(master []byte) (*Keyring, error) {
	if len(master) != masterKeySize {
		return nil, fmt.Errorf("the master key has %d bytes instead of %d", len(master), masterKeySize)
	}
	derive, err := hkdf.Key(sha256.New, master, nil, "vcard sandbox: derived values", masterKeySize)
	if err != nil {
		return nil, err
	}
	return &Keyring{derive}, nil
}

// bytes returns 32 bytes that cannot be computed without the master key.
func (k *Keyring) bytes(purpose, id string) []byte {
	mac := hmac.New(sha256.New, k.derive)
	_, _ = fmt.Fprintf(mac, "%s\x00%s", purpose, id)
	return mac.Sum(nil)
}

// APIKey returns the API key of an account: KeyPrefix and 40 hexadecimal digits.
func (k *Keyring) APIKey(accountID string) string {
	return KeyPrefix + hex.EncodeToString(k.bytes("api key", accountID)[:20])
}

// DepositAddress returns an account's address for a currency, such as "sandbox-btc-" and 32
// hexadecimal digits. This is not a valid address of any network, so nobody can send coins to it.
func (k *Keyring) DepositAddress(accountID, currency string) string {
	return "sandbox-" + currency + "-" + hex.EncodeToString(k.bytes("deposit address", accountID+"/"+currency)[:16])
}

// HashAPIKey returns the hash that is stored instead of a key. Keys are long and random,
// so a fast hash without a salt is safe.
func HashAPIKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// Token returns a new public id such as "card_k3…": the prefix and 24 random
// lower-case letters and digits, too many to guess or to occur twice.
func Token(prefix string) string { return prefix + token(rand.Reader) }

// seeded is the first character of seeded tokens. No other token starts with it.
const seeded = "0"

// SeededToken is like Token, for a seeded source of random bytes, which must not fail.
func SeededToken(prefix string, random io.Reader) string {
	return prefix + seeded + token(random)[1:]
}

func token(random io.Reader) string {
	const alphabet = "abcdefghijkmnpqrstuvwxyz23456789" // 32 characters, so that the remainder has no bias
	text := make([]byte, 24)
	_, _ = io.ReadFull(random, text) // neither crypto/rand nor a seeded source fails
	for i, b := range text {
		text[i] = alphabet[b%32]
	}
	return string(text)
}

// PAN returns a card's number: 16 digits with a valid Luhn check digit. It starts with 0,
// which no number of a real card does.
func (k *Keyring) PAN(cardID string) string {
	digits := "0" + k.digits("pan", cardID, 14)
	return digits + strconv.Itoa(luhnDigit(digits))
}

// CVV returns a card's three-digit security code.
func (k *Keyring) CVV(cardID string) string { return k.digits("cvv", cardID, 3) }

// OTP returns the six-digit one-time code of a 3DS challenge.
func (k *Keyring) OTP(challengeID string) string { return k.digits("otp", challengeID, 6) }

// digits returns n derived decimal digits. Their bias is negligible, because they are the last ones of a
// number of 32 bytes. For seeded ids they do not depend on the master key.
func (k *Keyring) digits(purpose, id string, n int) string {
	keys := k
	_, token, _ := strings.Cut(id, "_")
	if strings.HasPrefix(token, seeded) {
		keys = &Keyring{}
	}
	text := new(big.Int).SetBytes(keys.bytes(purpose, id)).Text(10)
	return text[len(text)-n:]
}

// luhnDigit returns the check digit for some digits.
func luhnDigit(digits string) int {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			d *= 2
		}
		if d > 9 {
			d -= 9
		}
		sum += d
	}
	return (10 - sum%10) % 10
}
