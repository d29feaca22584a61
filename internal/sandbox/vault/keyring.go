// Package vault derives card numbers, codes, API keys and deposit addresses from ids. It also generates random ids and
// secrets.
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
	"slices"
	"strconv"
	"strings"
)

// KeyPrefix is the prefix of a sandbox's API keys. It distinguishes them from keys of the real service.
const KeyPrefix = "sk_live_sandbox_"

// masterKeySize is the size of a master key, in bytes.
const masterKeySize = 32

// Keyring derives secrets. It is safe for concurrent use.
type Keyring struct {
	key []byte // derived from the master key
}

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
	var noSalt []byte // the master key is random
	key, err := hkdf.Key(sha256.New, master, noSalt, "vcard sandbox: derived values", sha256.Size)
	if err != nil {
		return nil, err
	}
	return &Keyring{key: key}, nil
}

// derive returns 32 bytes that depend on the keyring's key, a purpose and an id.
func (k *Keyring) derive(purpose, id string) []byte {
	mac := hmac.New(sha256.New, k.key)
	_, _ = fmt.Fprintf(mac, "%s\x00%s", purpose, id)
	return mac.Sum(nil)
}

// APIKey returns the API key that belongs to an id, such as that of an account: KeyPrefix and 40 hexadecimal digits.
func (k *Keyring) APIKey(id string) string {
	secret := k.derive("api key", id)
	return KeyPrefix + hex.EncodeToString(secret[:20])
}

// DepositAddress returns an account's address for a currency, such as "sandbox-btc-" and 32 hexadecimal digits. It is
// visibly not a real address, so that nobody sends coins to it.
func (k *Keyring) DepositAddress(accountID, currency string) string {
	unique := k.derive("deposit address", accountID+"/"+currency)
	return "sandbox-" + currency + "-" + hex.EncodeToString(unique[:16])
}

// HashAPIKey returns the hash of a key. It is fast and has no salt, because keys are long and guard play money.
func HashAPIKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// Token returns a new id or secret such as "card_k3…": the prefix and 24 random lower-case letters and digits.
func Token(prefix string) string { return prefix + token(rand.Reader) }

// seededMark follows the prefix of a seeded token. Other tokens do not contain it, because their alphabet has no 0.
const seededMark = "0"

// SeededToken is like Token, for a seeded source of random bytes. The source must not fail.
func SeededToken(prefix string, random io.Reader) string {
	text := token(random)
	return prefix + seededMark + text[1:] // seededMark replaces the first character
}

// token returns 24 random lower-case letters and digits. The source must not fail.
func token(random io.Reader) string {
	const alphabet = "abcdefghijkmnpqrstuvwxyz23456789" // 32 divides 256, so all are equally likely
	text := make([]byte, 24)
	_, _ = io.ReadFull(random, text)
	for i, b := range text {
		text[i] = alphabet[b%byte(len(alphabet))]
	}
	return string(text)
}

// PAN returns a card's number: 16 digits with a valid Luhn check digit. It starts with 0, so that it is not the number
// of a real payment card.
func (k *Keyring) PAN(cardID string) string {
	digits := "0" + k.digits("pan", cardID, 14)
	return digits + strconv.Itoa(luhnDigit(digits))
}

// CVV returns a card's three-digit security code.
func (k *Keyring) CVV(cardID string) string { return k.digits("cvv", cardID, 3) }

// OTP returns the six-digit one-time code of a 3DS challenge.
func (k *Keyring) OTP(challengeID string) string { return k.digits("otp", challengeID, 6) }

// digits returns n derived decimal digits. They are the last digits of a number of 32 bytes, so their bias is
// negligible. For a seeded id, they do not depend on the master key, so that the same seed gives the same digits.
func (k *Keyring) digits(purpose, id string, n int) string {
	keyring := k
	_, randomPart, _ := strings.Cut(id, "_")
	if strings.HasPrefix(randomPart, seededMark) {
		keyring = &Keyring{} // without a key
	}
	number := new(big.Int).SetBytes(keyring.derive(purpose, id))
	text := number.Text(10)
	return text[len(text)-n:]
}

// luhnDigit returns the check digit that follows some digits. The Luhn algorithm doubles every second digit, starting
// with the last, and then adds up all decimal digits. The check digit makes the total a multiple of 10.
func luhnDigit(digits string) int {
	sum := 0
	doubled := true
	for _, char := range slices.Backward([]byte(digits)) {
		digit := int(char - '0')
		if doubled {
			digit *= 2
		}
		if digit > 9 {
			digit -= 9 // the sum of its two decimal digits
		}
		sum += digit
		doubled = !doubled
	}
	return (10 - sum%10) % 10
}
