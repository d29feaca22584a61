package contract

import (
	"fmt"
	"slices"
)

func (d *document) responseBreaks(op *operation, got response) []string {
	documented, ok := op.responses[got.status]
	if !ok {
		return []string{fmt.Sprintf("status %d is not documented", got.status)}
	}
	var breaks []string
	for name, header := range documented.Headers {
		for _, value := range got.header.Values(name) {
			breaks = append(breaks, prefixed("header "+name, d.valueBreaks(header.Value.Schema.Value, value))...)
		}
	}
	return prefixed(
		fmt.Sprintf("status %d", got.status),
		slices.Concat(breaks, d.contentBreaks(documented.Content, got.header, got.body)),
	)
}
