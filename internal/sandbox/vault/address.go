package vault

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"golang.org/x/crypto/sha3"
)

// AddressForm is how a network writes its addresses.
type AddressForm int

// The forms of the ten deposit currencies.
const (
	FormSegwitBitcoin AddressForm = iota
	FormSegwitLitecoin
	FormEVM
	FormTron
	FormSolana
)

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	bech32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
)

// DepositAddress returns an account's address for a currency. It looks like
// its network's addresses, but wallets refuse it: nobody can send coins to it.
func (k *Keyring) DepositAddress(form AddressForm, accountID, currency string) string {
	s := k.stream("deposit address", accountID+"/"+currency)
	switch form {
	case FormSegwitBitcoin:
		return brokenSegwit("bc", s)
	case FormSegwitLitecoin:
		return brokenSegwit("ltc", s)
	case FormEVM:
		return brokenEVM(s)
	case FormTron:
		return brokenTron(s)
	case FormSolana:
		return brokenSolana(s)
	}
	panic(fmt.Sprintf("vault: no address form %d", form))
}

// brokenSegwit is a version 0 address of a key hash, one checksum character off.
func brokenSegwit(prefix string, s *stream) string {
	values := []byte{0}
	for range 32 { // 20 bytes in groups of 5 bits
		values = append(values, s.below(32))
	}
	var expanded []byte
	for i := range len(prefix) {
		expanded = append(expanded, prefix[i]>>5)
	}
	expanded = append(expanded, 0)
	for i := range len(prefix) {
		expanded = append(expanded, prefix[i]&31)
	}
	checksum := bech32Polymod(slices.Concat(expanded, values, make([]byte, 6))) ^ 1
	for i := range 6 {
		values = append(values, byte(checksum>>(5*(5-i))&31))
	}
	values[len(values)-1] ^= 1
	var b strings.Builder
	b.WriteString(prefix + "1")
	for _, v := range values {
		b.WriteByte(bech32[v])
	}
	return b.String()
}

func bech32Polymod(values []byte) uint32 {
	generator := [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	check := uint32(1)
	for _, v := range values {
		top := check >> 25
		check = check&0x1ffffff<<5 ^ uint32(v)
		for i, g := range generator {
			if top>>i&1 == 1 {
				check ^= g
			}
		}
	}
	return check
}

// brokenEVM has the mixed case of a checksummed address, with one letter in
// the wrong case.
func brokenEVM(s *stream) string {
	for {
		address := []byte(s.text("0123456789abcdef", 40))
		hash := sha3.NewLegacyKeccak256()
		_, _ = hash.Write(address)
		digest := hex.EncodeToString(hash.Sum(nil))
		var letters []int
		for i, c := range address {
			if c >= 'a' {
				letters = append(letters, i)
				if digest[i] >= '8' {
					address[i] = c - 'a' + 'A'
				}
			}
		}
		if len(letters) == 0 {
			continue
		}
		address[letters[0]] ^= 'a' ^ 'A'
		text := string(address)
		// All in one case would mean "no checksum" and be accepted.
		if strings.ToLower(text) != text && strings.ToUpper(text) != text {
			return "0x" + text
		}
	}
}

// brokenTron is a base58check address whose checksum has one bit off.
func brokenTron(s *stream) string {
	payload := []byte{0x41}
	for range 20 {
		payload = append(payload, s.below(256))
	}
	first := sha256.Sum256(payload)
	second := sha256.Sum256(first[:])
	second[3] ^= 1
	return encodeBase58(append(payload, second[:4]...))
}

// brokenSolana makes up for the checksum that Solana's addresses do not have:
// its 44 characters stand for a number of more than 32 bytes, so it is no
// public key. 58^43·18 is the first beginning that passes 2^256.
func brokenSolana(s *stream) string {
	const firstTooLarge = 18
	return s.text(base58[firstTooLarge:], 1) + s.text(base58, 43)
}

func encodeBase58(data []byte) string {
	n, radix, digit := new(big.Int).SetBytes(data), big.NewInt(int64(len(base58))), new(big.Int)
	var out []byte
	for n.Sign() > 0 {
		n.DivMod(n, radix, digit)
		out = append(out, base58[digit.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}
