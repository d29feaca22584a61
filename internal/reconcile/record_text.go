package reconcile

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// The text of a record is a version letter and the base64url encoding of:
//
//	4 bytes   checksum of the card's id and of all that follows
//	2 bytes   flags, big endian
//	8 bytes   the seed
//	2 varints top-ups: month, sum
//	3 varints pending movement, if any: delta, loaded before, Unix time of sending
//	3 varints anchor, if any: balance, last movement, Unix time of reading or issue
//	4 bytes   ShortID, for each event that the anchor knows
const (
	recordVersion = 'b'
	checksumSize  = 4
	flagsSize     = 2
)

// flags are the booleans in a record's text, one per bit. Their order is part of the format.
type flags uint16

const (
	flagAnchor       flags = 1 << iota // there is an anchor
	flagListed                         // Anchor.Listed
	flagMore                           // Anchor.More
	flagNew                            // Anchor.New
	flagUnclear                        // Anchor.Unclear
	flagPending                        // there is a pending movement
	flagPendingTopUp                   // Pending.Purpose is ForTopUp
	flagHasKey                         // HasKey
	flagAnswered                       // Pending.Answered
)

// set sets a flag if a value is true.
func (f *flags) set(flag flags, value bool) {
	if value {
		*f |= flag
	}
}

func (f flags) has(flag flags) bool { return f&flag != 0 }

func flagsOf(r Record) flags {
	var f flags
	f.set(flagHasKey, r.HasKey)
	if r.Anchor != nil {
		f.set(flagAnchor, true)
		f.set(flagListed, r.Anchor.Listed)
		f.set(flagMore, r.Anchor.More)
		f.set(flagNew, r.Anchor.New)
		f.set(flagUnclear, r.Anchor.Unclear)
	}
	if r.Pending != nil {
		f.set(flagPending, true)
		f.set(flagPendingTopUp, r.Pending.Purpose == ForTopUp)
		f.set(flagAnswered, r.Pending.Answered)
	}
	return f
}

// Text returns the record of a card as an opaque text for the state. ParseRecord reads it.
func (r Record) Text(card string) string {
	body := binary.BigEndian.AppendUint16(nil, uint16(flagsOf(r)))
	body = append(body, r.Seed[:]...)
	body = appendNumbers(body, int64(r.TopUps.Month), int64(r.TopUps.Sum))
	if r.Pending != nil {
		body = appendNumbers(body, int64(r.Pending.Delta), int64(r.Pending.LoadedBefore), r.Pending.SentAt.Unix())
	}
	if r.Anchor != nil {
		body = appendNumbers(body, int64(r.Anchor.Balance), int64(r.Anchor.Last), r.Anchor.At.Unix())
		for _, id := range r.Anchor.Known {
			body = append(body, id[:]...)
		}
	}
	data := append(checksum(card, body), body...)
	return string(recordVersion) + base64.RawURLEncoding.EncodeToString(data)
}

func appendNumbers(data []byte, numbers ...int64) []byte {
	for _, number := range numbers {
		data = binary.AppendVarint(data, number)
	}
	return data
}

func checksum(card string, body []byte) []byte {
	sum := sha256.Sum256(append([]byte(card+"\x00"), body...))
	return sum[:checksumSize]
}

// ParseRecord reads the text of a card's record. For a text that is not one of this card, it returns the zero Record.
func ParseRecord(card, text string) Record {
	if text == "" {
		return Record{}
	}
	afterVersion := text[1:]
	data, err := base64.RawURLEncoding.DecodeString(afterVersion)
	if err != nil || len(data) < checksumSize+flagsSize+len(Seed{}) {
		return Record{}
	}
	r := parseBody(data[checksumSize:])
	// Encoding the record again also checks the version and the checksum.
	if r.Text(card) != text {
		return Record{}
	}
	return r
}

// parseBody reads what follows the checksum. The body must have at least flags and seed. Missing numbers are 0. The order
// of the calls of next is part of the format, so each call is a statement of its own.
func parseBody(body []byte) Record {
	f := flags(binary.BigEndian.Uint16(body))
	numbers := numberReader{rest: body[flagsSize+len(Seed{}):]}

	r := Record{HasKey: f.has(flagHasKey)}
	copy(r.Seed[:], body[flagsSize:])
	r.TopUps.Month = Month(numbers.next())
	r.TopUps.Sum = usd.Amount(numbers.next())
	if f.has(flagPending) {
		delta := usd.Amount(numbers.next())
		loadedBefore := usd.Amount(numbers.next())
		sentAt := time.Unix(numbers.next(), 0).UTC()
		r.Pending = &Pending{
			Delta:        delta,
			LoadedBefore: loadedBefore,
			SentAt:       sentAt,
			Answered:     f.has(flagAnswered),
		}
		if f.has(flagPendingTopUp) {
			r.Pending.Purpose = ForTopUp
		}
	}
	if f.has(flagAnchor) {
		balance := usd.Amount(numbers.next())
		last := usd.Amount(numbers.next())
		at := time.Unix(numbers.next(), 0).UTC()
		r.Anchor = &Anchor{
			Balance: balance,
			Last:    last,
			At:      at,
			Listed:  f.has(flagListed),
			More:    f.has(flagMore),
			New:     f.has(flagNew),
			Unclear: f.has(flagUnclear),
		}
		const size = len(ShortID{})
		ids := numbers.rest
		for len(ids) >= size {
			r.Anchor.Known = append(r.Anchor.Known, ShortID(ids[:size]))
			ids = ids[size:]
		}
	}
	return r
}

// numberReader reads varints.
type numberReader struct{ rest []byte }

// next returns the next number, or 0 if none can be read.
func (n *numberReader) next() int64 {
	number, size := binary.Varint(n.rest)
	n.rest = n.rest[max(0, size):]
	return number
}
