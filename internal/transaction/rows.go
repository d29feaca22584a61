package transaction

import (
	"bytes"
	"errors"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// rows are the elements of the attribute transactions in the protocol's own
// encoding, MessagePack: some 250 bytes for each transaction, where the
// framework's values take some kilobytes.
type rows struct {
	count int
	size  int // bytes in full chunks
	full  [][]byte
	last  bytes.Buffer
}

// chunkSize keeps the rows from being copied as they grow.
const chunkSize = 256 << 10

func (r *rows) add(t api.Transaction) error {
	const rowSize = 512
	if r.last.Available() < rowSize && r.last.Len() > 0 {
		r.size += r.last.Len()
		r.full = append(r.full, r.last.Bytes())
		r.last = bytes.Buffer{}
	}
	if r.last.Cap() == 0 {
		r.last.Grow(chunkSize)
	}
	r.count++
	e := encoder{msgpack.NewEncoder(&r.last)}
	return errors.Join(
		e.EncodeMapLen(8),
		e.text("id", t.ID),
		e.text("card_id", t.CardID),
		e.text("type", string(t.Type)),
		e.text("amount", t.Amount.String()), // the protocol's form of numbers that binary cannot hold
		e.text("currency", t.Currency),
		e.text("fee", t.Fee.String()),
		e.EncodeString("merchant"), e.EncodeMapLen(2), e.text("name", t.Merchant.Name), e.text("mcc", t.Merchant.MCC),
		e.text("created_at", t.CreatedAt),
	)
}

type encoder struct{ *msgpack.Encoder }

func (e encoder) text(name, value string) error {
	return errors.Join(e.EncodeString(name), e.EncodeString(value))
}

// writeTo appends the list of all rows.
func (r *rows) writeTo(out *bytes.Buffer) error {
	if err := msgpack.NewEncoder(out).EncodeArrayLen(r.count); err != nil {
		return err
	}
	for _, chunk := range r.full {
		out.Write(chunk)
	}
	out.Write(r.last.Bytes())
	return nil
}
