package vault

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strconv"
)

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

// digits returns n derived decimal digits. 32 bytes make their bias nothing.
func (k *Keyring) digits(purpose, id string, n int) string {
	text := new(big.Int).SetBytes(k.bytes(purpose, id)).Text(10)
	return text[len(text)-n:]
}

// luhnDigit returns the check digit that completes a number.
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

// stream yields derived bytes without end, for values of any length.
type stream struct {
	seed    []byte
	block   [sha256.Size]byte
	counter uint64
	left    int
}

func (k *Keyring) stream(purpose, id string) *stream {
	return &stream{seed: k.bytes(purpose, id)}
}

// below returns a number in [0, n), n at most 256, each equally likely.
func (s *stream) below(n int) byte {
	for {
		if s.left == 0 {
			s.block = sha256.Sum256(binary.BigEndian.AppendUint64(s.seed, s.counter))
			s.counter++
			s.left = len(s.block)
		}
		s.left--
		if b := int(s.block[s.left]); b < 256-256%n {
			return byte(b % n) //nolint:gosec // below 256
		}
	}
}

// text returns n characters of an alphabet.
func (s *stream) text(alphabet string, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[s.below(len(alphabet))]
	}
	return string(out)
}
