// Package vault derives the secrets of a sandbox, which it does not store, and makes ids.
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

// KeyPrefix begins every API key of a sandbox, and none of a real service.
const KeyPrefix = "sk_live_sandbox_"

// masterKeySize is in bytes.
const masterKeySize = 32

// Keyring derives. It is safe for concurrent use.
type Keyring struct{ derive []byte }

// NewMasterKey returns fresh key material for a new file.
func NewMasterKey() []byte {
	key := make([]byte, masterKeySize)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the program instead
	return key
}

// New returns the keyring of a master key.
func New(master []byte) (*Keyring, error) {
	if len(master) != masterKeySize {
		return nil, fmt.Errorf("the master key has %d bytes, want %d", len(master), masterKeySize)
	}
	derive, err := hkdf.Key(sha256.New, master, nil, "vcard sandbox: derived values", masterKeySize)
	if err != nil {
		return nil, err
	}
	return &Keyring{derive}, nil
}

// bytes returns 32 bytes that only the master key's holder can know.
func (k *Keyring) bytes(purpose, id string) []byte {
	mac := hmac.New(sha256.New, k.derive)
	_, _ = fmt.Fprintf(mac, "%s\x00%s", purpose, id)
	return mac.Sum(nil)
}

// APIKey returns the key of an account: KeyPrefix and 40 hexadecimal digits.
func (k *Keyring) APIKey(accountID string) string {
	return KeyPrefix + hex.EncodeToString(k.bytes("api key", accountID)[:20])
}

// DepositAddress returns an account's address for a currency, such as "sandbox-btc-…" and 32
// hexadecimal digits. It is plainly no real address: nobody can send coins to it.
func (k *Keyring) DepositAddress(accountID, currency string) string {
	return "sandbox-" + currency + "-" + hex.EncodeToString(k.bytes("deposit address", accountID+"/"+currency)[:16])
}

// HashAPIKey is what the file keeps of a key. Keys are long and random, so a
// plain hash cannot be searched.
func HashAPIKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// Token returns a new public id such as "card_k3…": the prefix and 24 random
// lower-case letters and digits, too many to be guessed or to repeat.
func Token(prefix string) string { return token(prefix, rand.Reader) } // crypto/rand never fails

// SeededToken is Token for what follows from a seed, with a 0 that no other begins with.
func SeededToken(prefix string, random io.Reader) string {
	return prefix + "0" + token("", random)[1:]
}

func token(prefix string, from io.Reader) string {
	const alphabet = "abcdefghijkmnpqrstuvwxyz23456789" // 32 characters: no bias
	random := make([]byte, 24)
	_, _ = io.ReadFull(from, random) // neither of the sources fails
	for i, b := range random {
		random[i] = alphabet[b%32]
	}
	return prefix + string(random)
}

// PAN returns a card's number: 16 digits, Luhn-valid. It begins with 0, which
// no card network issues, so it is nobody's.
func (k *Keyring) PAN(cardID string) string {
	digits := "0" + k.digits("pan", cardID, 14)
	return digits + strconv.Itoa(luhnDigit(digits))
}

// CVV returns a card's three-digit security code.
func (k *Keyring) CVV(cardID string) string { return k.digits("cvv", cardID, 3) }

// OTP returns the six-digit one-time code of a 3DS challenge.
func (k *Keyring) OTP(challengeID string) string { return k.digits("otp", challengeID, 6) }

// digits returns n derived decimal digits. 32 bytes make their bias nothing. Those
// of a seeded world are the same under every master key.
func (k *Keyring) digits(purpose, id string, n int) string {
	if _, token, _ := strings.Cut(id, "_"); strings.HasPrefix(token, "0") {
		k = &Keyring{}
	}
	text := new(big.Int).SetBytes(k.bytes(purpose, id)).Text(10)
	return text[len(text)-n:]
}

func luhnDigit(digits string) int {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return (10 - sum%10) % 10
}
