package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decodeObject reads a JSON object. Unknown fields are ignored, a null counts as
// absent, and the required fields must be there: a missing balance must never be
// read as zero.
func decodeObject(body []byte, into any, required ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return describe(err)
	}
	if fields == nil {
		return errors.New("the response is not a JSON object")
	}
	nulls := false
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
			nulls = true
		}
	}
	var missing []string
	for _, name := range required {
		if _, ok := fields[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the response lacks %s", strings.Join(missing, ", "))
	}
	if nulls {
		var err error
		if body, err = json.Marshal(fields); err != nil {
			return err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	return describe(decoder.Decode(into))
}

// list is the envelope of every list of the service.
type list struct {
	Data    []json.RawMessage `json:"data"`
	Page    int               `json:"page"`
	PerPage int               `json:"per_page"`
	Total   *int              `json:"total"`
}

// decodeList reads a list whose entries must have the required fields.
func decodeList[T any](body []byte, required ...string) ([]T, list, error) {
	var fields map[string]json.RawMessage
	var envelope list
	if err := decodeObject(body, &envelope); err != nil {
		return nil, list{}, err
	}
	if err := json.Unmarshal(body, &fields); err != nil || fields["data"] == nil {
		return nil, list{}, errors.New("the response lacks data")
	}
	entries := make([]T, len(envelope.Data))
	for i, data := range envelope.Data {
		if err := decodeObject(data, &entries[i], required...); err != nil {
			return nil, list{}, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return entries, envelope, nil
}

// describe words a decoding error without the values that it stumbled on.
func describe(err error) error {
	wrongType, isType := errors.AsType[*json.UnmarshalTypeError](err)
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == nil:
		return nil
	case isType:
		kind, _, _ := strings.Cut(wrongType.Value, " ")
		return fmt.Errorf("the response has the wrong shape: %q is a JSON %s", wrongType.Field, kind)
	case isSyntax, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("the response is not complete JSON")
	default:
		return fmt.Errorf("the response has the wrong shape: %w", err)
	}
}
