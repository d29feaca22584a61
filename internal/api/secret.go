package api

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is text that is shown to nobody by accident: printed, logged or
// marshalled it is "[redacted]". It unmarshals from a JSON string.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) } // a fmt.State keeps its own errors

// LogValue is "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }
