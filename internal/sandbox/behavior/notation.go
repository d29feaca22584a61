package behavior

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Rewrite puts the values of a response into their notation. The response is JSON
// as this service encodes it: amounts with at least two decimals, and no other number with
// a decimal point. Metadata is the caller's own and stays.
func (q Quirks) Rewrite(response []byte) ([]byte, error) {
	if q.Amounts == Decimals && q.Timestamps == UTC && q.EmptyMetadata == Object {
		return response, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(response))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return nil, fmt.Errorf("rewriting the values of a response: %w", err)
	}
	return wire.Encode(q.rewritten("", body)), nil
}

func (q Quirks) rewritten(name string, value any) any {
	switch v := value.(type) {
	case json.Number:
		return q.amount(v)
	case string:
		if q.Timestamps == Bare && (name == "created_at" || name == "expires_at") {
			return strings.TrimSuffix(v, "Z")
		}
	case []any:
		for i := range v {
			v[i] = q.rewritten("", v[i])
		}
	case map[string]any:
		if name == "metadata" {
			if q.EmptyMetadata == Array && len(v) == 0 {
				return []any{}
			}
			return v
		}
		for name := range v {
			v[name] = q.rewritten(name, v[name])
		}
	}
	return value
}

func (q Quirks) amount(number json.Number) any {
	decimals := number.String()
	if !strings.Contains(decimals, ".") {
		return number
	}
	switch q.Amounts {
	case Strings:
		return decimals
	case Plain:
		return json.Number(strings.TrimSuffix(strings.TrimRight(decimals, "0"), "."))
	case Floats:
		return json.Number(decimals + "0000000000004")
	}
	return number
}

// WalletAmount writes an amount of the wallet: with the fraction of a cent that
// its coins come to besides, where the quirks say so.
func (q Quirks) WalletAmount(a usd.Amount) json.Number {
	if q.WalletDecimals > 2 {
		return json.Number(a.String() + "1234"[:q.WalletDecimals-2])
	}
	return json.Number(a.String())
}
