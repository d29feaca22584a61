package behavior

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rewrite puts the values of a response into their notation. The response is JSON
// as this service encodes it: compact, amounts with at least two decimals, and no
// other number with a decimal point. Metadata is the caller's own and stays.
func (q Quirks) Rewrite(response []byte) ([]byte, error) {
	if q.Amounts == Decimals && q.Timestamps == UTC && q.EmptyMetadata == Object {
		return response, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber()
	var (
		out  []byte
		done int64 // how much of the response is in out
		name string
	)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return append(out, response[done:]...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("rewriting the values of a response: %w", err)
		}
		end := decoder.InputOffset()
		text, isText := token.(string)
		var begin int64
		var value string
		switch number, _ := token.(json.Number); {
		case isText && response[end] == ':':
			if name = text; name != "metadata" {
				continue
			}
			var own json.RawMessage
			if err := decoder.Decode(&own); err != nil {
				return nil, fmt.Errorf("rewriting the values of a response: %w", err)
			}
			end = decoder.InputOffset()
			begin, value = end-int64(len(own)), q.metadata(string(own))
		case isText:
			begin, value = end-int64(len(text)+2), q.text(name, text)
			if value == text {
				continue
			}
			value = `"` + value + `"`
		case strings.Contains(number.String(), "."):
			begin, value = end-int64(len(number)), q.amount(number.String())
		default:
			continue
		}
		out = append(append(out, response[done:begin]...), value...)
		done = end
	}
}

func (q Quirks) amount(decimals string) string {
	switch q.Amounts {
	case Strings:
		return `"` + decimals + `"`
	case Plain:
		return strings.TrimSuffix(strings.TrimRight(decimals, "0"), ".")
	case Floats:
		return decimals + "0000000000004"
	}
	return decimals
}

func (q Quirks) text(name, text string) string {
	if q.Timestamps == Bare && (name == "created_at" || name == "expires_at") {
		return strings.TrimSuffix(text, "Z")
	}
	return text
}

func (q Quirks) metadata(object string) string {
	if q.EmptyMetadata == Array && object == "{}" {
		return "[]"
	}
	return object
}

// WalletAmount writes an amount of the wallet: with the fraction of a cent that
// its coins come to besides, where the quirks say so.
func (q Quirks) WalletAmount(a usd.Amount) json.Number {
	if q.WalletDecimals > 2 {
		return json.Number(a.String() + "1234"[:q.WalletDecimals-2])
	}
	return json.Number(a.String())
}
