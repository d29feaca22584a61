package quirk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// WriteAmounts puts the amounts in an answer into their notation. The answer is
// JSON as this service encodes it: compact, amounts with two decimals, and no
// other number with a decimal point. Metadata is the caller's own and stays.
func (q Quirks) WriteAmounts(answer []byte) ([]byte, error) {
	if q.Amounts == Decimals {
		return answer, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var (
		out  []byte
		done int64 // how much of the answer is in out
	)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return append(out, answer[done:]...), nil
		}
		if err != nil {
			return nil, fmt.Errorf("rewriting the amounts of an answer: %w", err)
		}
		end := decoder.InputOffset()
		if token == "metadata" && answer[end] == ':' {
			var own json.RawMessage
			if err := decoder.Decode(&own); err != nil {
				return nil, fmt.Errorf("rewriting the amounts of an answer: %w", err)
			}
			continue
		}
		number, _ := token.(json.Number)
		if text := number.String(); strings.Contains(text, ".") {
			out = append(out, answer[done:end-int64(len(text))]...)
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
