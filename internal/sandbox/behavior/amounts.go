package behavior

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// WriteAmounts puts the amounts of a response into their notation. The response is
// JSON as this service encodes it: compact, amounts with two decimals, and no
// other number with a decimal point. Metadata is the caller's own and stays.
func (q Quirks) WriteAmounts(response []byte) ([]byte, error) {
	if q.Amounts == Decimals {
		return response, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber()
	var (
		out  []byte
		done int64 // how much of the response is in out
	)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return append(out, response[done:]...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("rewriting the amounts of a response: %w", err)
		}
		end := decoder.InputOffset()
		if token == "metadata" && response[end] == ':' {
			var own json.RawMessage
			if err := decoder.Decode(&own); err != nil {
				return nil, fmt.Errorf("rewriting the amounts of a response: %w", err)
			}
			continue
		}
		number, _ := token.(json.Number)
		if text := number.String(); strings.Contains(text, ".") {
			out = append(out, response[done:end-int64(len(text))]...)
			out = append(out, q.amount(text)...)
			done = end
		}
	}
}

func (q Quirks) amount(decimals string) string {
	if q.Amounts == Strings {
		return `"` + decimals + `"`
	}
	return strings.TrimSuffix(strings.TrimRight(decimals, "0"), ".")
}
