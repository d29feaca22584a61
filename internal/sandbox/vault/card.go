package vault

import (
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

// digits returns n derived decimal digits. 32 bytes make their bias nothing. Those
// of a seeded world are the same under every master key.
func (k *Keyring) digits(purpose, id string, n int) string {
	if isSeeded(id) {
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
