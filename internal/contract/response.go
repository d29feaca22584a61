package contract

import (
	"fmt"
	"slices"
)

func (d *document) responseBreaks(op *operation, answer response) []string {
	documented, ok := op.responses[answer.status]
	if !ok {
		return []string{fmt.Sprintf("status %d is not documented", answer.status)}
	}
	var breaks []string
	for name, header := range documented.Headers {
		for _, value := range answer.header.Values(name) {
			breaks = append(breaks, prefixed("header "+name, d.valueBreaks(header.Value.Schema.Value, value))...)
		}
	}
	return prefixed(
		fmt.Sprintf("status %d", answer.status),
		slices.Concat(breaks, d.contentBreaks(documented.Content, answer.header, answer.body)),
	)
}
