package reconcile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The text of a record is a version letter and base64url of: a check sum over the
// card's id and the rest, flags, seed, month, sum, and where the flags say so the
// anchor and the pending movement.
const (
	recordVersion = 'b'
	checkSize     = 4
)

const (
	flagAnchor uint16 = 1 << iota
	flagListed
	flagMore
	flagNew
	flagUnclear
	flagPending
	flagPendingTopUp
	flagHasKey
	flagAnswered
)

// Text is the record of a card as it is kept in the state: opaque, no secret,
// at most 240 characters.
func (r Record) Text(card string) string {
	flags := bit(r.Anchor != nil, flagAnchor) | bit(r.Pending != nil, flagPending) | bit(r.HasKey, flagHasKey)
	var body []byte
	put := func(values ...int64) {
		for _, value := range values {
			body = binary.AppendVarint(body, value)
		}
	}
	put(int64(r.TopUps.Month), int64(r.TopUps.Sum))
	if p := r.Pending; p != nil {
		flags |= bit(p.Purpose == ForTopUp, flagPendingTopUp) | bit(p.Answered, flagAnswered)
		put(int64(p.Delta), int64(p.Before), p.SentAt.Unix())
	}
	if a := r.Anchor; a != nil {
		flags |= bit(a.Listed, flagListed) | bit(a.More, flagMore) | bit(a.New, flagNew) | bit(a.Unclear, flagUnclear)
		put(int64(a.Balance), int64(a.Last), a.At.Unix())
		for _, id := range a.Known {
			body = append(body, id[:]...)
		}
	}
	body = append(append(binary.BigEndian.AppendUint16(nil, flags), r.Seed[:]...), body...)
	return string(recordVersion) + base64.RawURLEncoding.EncodeToString(append(check(card, body), body...))
}

func bit(set bool, flag uint16) uint16 {
	if set {
		return flag
	}
	return 0
}

func check(card string, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(card+"\x00"), body...))
	return sum[:checkSize]
}

// ParseRecord reads the text of a card's record. What cannot be read, and what
// is another card's, is a lost record.
func ParseRecord(card, text string) Record {
	if text == "" {
		return Record{}
	}
	data, _ := base64.RawURLEncoding.DecodeString(text[1:])
	const fixed = checkSize + 2 + len(Seed{})
	if len(data) < fixed {
		return Record{}
	}
	flags, body := binary.BigEndian.Uint16(data[checkSize:]), data[fixed:]
	r := Record{HasKey: flags&flagHasKey != 0, Seed: Seed(data[fixed-len(Seed{}) : fixed])}
	number := func() int64 {
		value, size := binary.Varint(body)
		body = body[max(0, size):]
		return value
	}
	r.TopUps = TopUps{Month(number()), usd.Amount(number())}
	if flags&flagPending != 0 {
		r.Pending = &Pending{Delta: usd.Amount(number()), Before: usd.Amount(number()), SentAt: time.Unix(number(), 0).UTC()}
		if flags&flagPendingTopUp != 0 {
			r.Pending.Purpose = ForTopUp
		}
		r.Pending.Answered = flags&flagAnswered != 0
	}
	if flags&flagAnchor != 0 {
		r.Anchor = &Anchor{
			Balance: usd.Amount(number()), Last: usd.Amount(number()), At: time.Unix(number(), 0).UTC(),
			Listed: flags&flagListed != 0, More: flags&flagMore != 0, New: flags&flagNew != 0, Unclear: flags&flagUnclear != 0,
		}
		for len(body) >= len(ShortID{}) {
			r.Anchor.Known = append(r.Anchor.Known, ShortID(body[:4]))
			body = body[4:]
		}
	}
	if r.Text(card) != text { // damaged, another card's, or of a later version
		return Record{}
	}
	return r
}
