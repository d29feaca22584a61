package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
)

// CardDetails are what a payment needs. They show nothing of it when printed,
// logged or marshalled: only the fields themselves give the values.
type CardDetails struct {
	ID       string
	PAN      string // full card number
	CVV      string
	ExpMonth int // 1 to 12
	ExpYear  int // four digits
}

// CardDetails reads number, CVV and expiry of a card. The service grants this
// 30 times a minute (API §8).
func (c *Client) CardDetails(ctx context.Context, id string) (CardDetails, error) {
	var details struct {
		ID       string `json:"id"`
		PAN      string `json:"pan"`
		CVV      string `json:"cvv"`
		ExpMonth int    `json:"exp_month"`
		ExpYear  int    `json:"exp_year"`
	}
	path, err := cardPath(id, "/details")
	if err != nil {
		return CardDetails{}, err
	}
	err = c.read(ctx, &call{
		operation: "read the details of card " + id, method: http.MethodGet, path: path,
		budget: detailsBudget, secret: true,
		accept: func(body []byte) error {
			return errors.Join(
				decodeObject(body, &details, "id", "pan", "cvv", "exp_month", "exp_year"),
				sameCard(id, details.ID),
			)
		},
	})
	if err != nil {
		return CardDetails{}, err
	}
	return CardDetails(details), nil
}

// String names the card only.
func (d CardDetails) String() string { return "details of card " + d.ID + " " + redacted }

// GoString is String.
func (d CardDetails) GoString() string { return d.String() }

// Format writes String for every verb.
func (d CardDetails) Format(f fmt.State, _ rune) { writeText(f, d.String()) }

// LogValue is String.
func (d CardDetails) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalJSON writes String.
func (d CardDetails) MarshalJSON() ([]byte, error) { return jsonText(d.String()) }

func writeText(w io.Writer, text string) {
	_, _ = io.WriteString(w, text) // a fmt.State keeps its own errors
}
