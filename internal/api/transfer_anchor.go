package api

import (
	"crypto/sha256"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Anchor is what a card held (USD) at one moment, and which of its transactions
// are in that balance. It marshals to JSON, to be kept with the card, and holds
// no secret. What its balance and the transactions since then do not explain is
// money that came or went without this client.
type Anchor struct {
	Balance usd.Amount `json:"balance"`
	// At is the service's time of the reading. It tells old transactions from new
	// ones where Transactions does not say.
	At time.Time `json:"at"`
	// Transactions are the newest ones of the reading; nil when they were not read.
	Transactions transactionSet `json:"transactions"`
	// More says that there were older transactions than these.
	More bool `json:"more,omitempty"`
}

// NewAnchor is the anchor of a balance that was read at a moment (the service's
// time) without the card's transactions.
func NewAnchor(balance usd.Amount, at time.Time) *Anchor {
	return &Anchor{Balance: balance, At: at}
}

// IssueAnchor is the anchor of a card that was just issued with a load: no
// transaction is in it.
func IssueAnchor(load usd.Amount) *Anchor {
	return &Anchor{Balance: load, Transactions: transactionSet{}}
}

// atTolerance is how far the service's time may be off from when a balance was
// taken; what happened within it may be in the balance or not.
const atTolerance = 5 * time.Second

// age tells on which side of the anchor a transaction lies.
func (a *Anchor) age(t Transaction) transactionAge {
	read := a.Transactions != nil
	created, err := t.CreatedAt.Time()
	switch {
	case read && a.Transactions.has(t.ID):
		return beforeAnchor
	case read && a.At.IsZero(), err == nil && created.After(a.At.Add(atTolerance)):
		return sinceAnchor
	case err == nil && !read && created.Before(a.At.Add(-atTolerance)):
		return beforeAnchor
	}
	return aroundAnchor // what is listed late may have been in the balance already
}

// IsUnchecked reports whether the balance was taken without its transactions, and
// so shortly before now (the service's time) that a run which was cut off since
// may be in it.
func (a *Anchor) IsUnchecked(now time.Time) bool {
	const lately = 10 * time.Minute
	return a == nil || a.Transactions == nil && now.Sub(a.At) < lately
}

type transactionAge int

const (
	beforeAnchor transactionAge = iota
	aroundAnchor                // it cannot be told
	sinceAnchor
)

// transactionSet holds four bytes of a hash of each id, since every card in a
// state carries one.
type transactionSet []byte

const idHashSize = 4

func hashID(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:idHashSize]
}

func newTransactionSet(page []Transaction) transactionSet {
	set := make(transactionSet, 0, idHashSize*len(page))
	for _, t := range page {
		set = append(set, hashID(t.ID)...)
	}
	return set
}

func (s transactionSet) has(id string) bool {
	hash := hashID(id)
	for known := range slices.Chunk(s, idHashSize) {
		if slices.Equal(known, hash) {
			return true
		}
	}
	return false
}
