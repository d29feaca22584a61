package vault

import "crypto/rand"

// Token returns a new public id such as "card_k3…": the prefix and 24 random
// lower-case letters and digits, too many to be guessed or to repeat.
func Token(prefix string) string {
	const alphabet = "abcdefghijkmnpqrstuvwxyz23456789" // 32 characters: no bias
	random := make([]byte, 24)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the program instead
	for i, b := range random {
		random[i] = alphabet[b%32]
	}
	return prefix + string(random)
}
