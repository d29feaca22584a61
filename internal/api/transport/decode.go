package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ShapeError says that a response of the service came whole and is not what its
// document describes, which trying again does not change.
type ShapeError struct {
	Field   string // such as "data[2].balance"
	Problem string // of the field; empty where saying it would show a secret
}

func (e *ShapeError) Error() string {
	return strings.TrimSuffix("the response does not have the documented shape: "+e.Field+" "+e.Problem, " ")
}

func (e *ShapeError) within(path string) *ShapeError {
	return &ShapeError{Field: path + "." + e.Field, Problem: e.Problem}
}

// DecodeObject reads a JSON object. Its ids, in the fields "id" and "…_id", are ids or what
// markNoIDs makes of them; no other text is decoded but as a Text. A field in other letters
// is ignored, which json would take for the first. A null counts as absent, and the
// required fields must be there: a missing balance must never be read as zero. The error is
// a *ShapeError unless nothing in the body tells that the service wrote it.
func DecodeObject(body []byte, into any, required ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
			return errors.New("the response is not a JSON object")
		}
		return errors.New("the response is not complete JSON")
	}
	if len(fields) > maxFields {
		return &ShapeError{Field: "the object", Problem: fmt.Sprintf("has more than %d fields", maxFields)}
	}
	all := len(fields)
	maps.DeleteFunc(fields, func(name string, value json.RawMessage) bool {
		folded := strings.ToLower(strings.ToUpper(name))
		return string(value) == "null" || name != folded && fields[folded] != nil
	})
	marked := markNoIDs(fields)
	changed := marked || len(fields) != all
	var missing []string
	for _, name := range required {
		_, found := fields[name]
		if !found {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && len(missing) == len(required) {
		return fmt.Errorf("the response lacks %s", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		return &ShapeError{Field: strings.Join(missing, ", "), Problem: "missing"}
	}
	if changed {
		var err error
		body, err = json.Marshal(fields)
		if err != nil {
			return err
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(into) == nil {
		return nil
	}
	return wrongField(fields, into)
}

func wrongField(fields map[string]json.RawMessage, into any) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		one, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(one, reflect.New(reflect.TypeOf(into).Elem()).Interface()); err != nil {
			return shapeError(name, err)
		}
	}
	return &ShapeError{Field: "the object", Problem: "cannot be read"}
}

func shapeError(name string, err error) *ShapeError {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrongType.Value, " ")
		if strings.HasPrefix(wrongType.Field, name) {
			name = wrongType.Field
		}
		return &ShapeError{Field: name, Problem: "is a JSON " + kind}
	}
	return &ShapeError{Field: name, Problem: "is " + NewName(err.Error()).String()}
}

// List is the envelope of every list of the service.
type List struct {
	Data    []json.RawMessage `json:"data"`
	Page    Count             `json:"page"`
	PerPage Count             `json:"per_page"`
	Total   *Count            `json:"total"`
}

// Count is a whole number, which some services write as 130.0 or as "130".
type Count int

// UnmarshalJSON reads a whole number in any notation, also as a string.
func (c *Count) UnmarshalJSON(data []byte) error {
	var written json.Number
	if err := json.Unmarshal(data, &written); err != nil {
		return errors.New("not a whole number")
	}
	number, err := strconv.ParseFloat(written.String(), 64)
	if err != nil || number != math.Trunc(number) {
		return errors.New("not a whole number")
	}
	const most = 1 << 53 // up to which a JSON number is exact
	*c = Count(max(-most, min(number, most)))
	return nil
}

const (
	// maxEntries is how many entries a page may have, of a service without pages too.
	maxEntries = 50_000
	maxFields  = 1_000 // of one object
)

// DecodeListFunc reads a list, each entry by read. One without data is empty where the service
// counts none, or writes null.
func DecodeListFunc[T any](body []byte, read func(i int, data json.RawMessage) (T, error)) ([]T, List, error) {
	var envelope List
	if err := DecodeObject(body, &envelope); err != nil {
		return nil, List{}, err
	}
	if len(envelope.Data) > maxEntries {
		return nil, List{}, &ShapeError{Field: "data", Problem: fmt.Sprintf("has more than %d entries", maxEntries)}
	}
	if envelope.Data == nil && (envelope.Total == nil || *envelope.Total != 0) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil || fields["data"] == nil {
			return nil, List{}, errors.New("the response lacks data")
		}
	}
	entries := make([]T, len(envelope.Data))
	for i, data := range envelope.Data {
		var err error
		if entries[i], err = read(i, data); err != nil {
			return nil, List{}, err
		}
	}
	return entries, envelope, nil
}

// DecodeList reads a list whose entries must have the required fields.
func DecodeList[T any](body []byte, required ...string) ([]T, List, error) {
	return DecodeListFunc(body, func(i int, data json.RawMessage) (entry T, err error) {
		err = DecodeEntry(i, data, &entry, required...)
		return entry, err
	})
}

// DecodeEntry reads one of a list, which the service certainly wrote.
func DecodeEntry(i int, data json.RawMessage, into any, required ...string) error {
	err := DecodeObject(data, into, required...)
	path := fmt.Sprintf("data[%d]", i)
	switch shape, ok := errors.AsType[*ShapeError](err); {
	case err == nil:
		return nil
	case ok:
		return shape.within(path)
	}
	return &ShapeError{Field: path, Problem: "lacks " + strings.Join(required, ", ")}
}

// Timestamp is a time in RFC 3339, if the service told one in ISO 8601, to the
// second: one that came without a zone is in UTC (API §1). Anything else is a Word.
type Timestamp string

// UnmarshalJSON reads anything: no card or challenge becomes unreadable for its time.
func (t *Timestamp) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, (*string)(t)) // what is no text is no time
	if _, err := t.Time(); err == nil {
		return nil
	}
	text := strings.Replace(strings.ToUpper(string(*t)), " ", "T", 1)
	if _, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
		*t = Timestamp(text + "Z")
		return nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "20060102T150405Z0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			*t = Timestamp(at.Format(time.RFC3339Nano))
			return nil
		}
	}
	var other Word
	err := other.UnmarshalJSON(data)
	*t = Timestamp(other.String())
	return err
}

// Time returns the moment.
func (t Timestamp) Time() (time.Time, error) { return time.Parse(time.RFC3339, string(t)) }

// Date is a day as YYYY-MM-DD, or "".
type Date string

// UnmarshalJSON reads a date, or that of a time; anything else is no date.
func (d *Date) UnmarshalJSON(data []byte) error {
	written := DecodeOrZero[Timestamp](data)
	at, err := written.Time()
	if err != nil {
		at, err = time.Parse(time.DateOnly, string(written))
	}
	if *d = ""; err == nil {
		*d = Date(at.Format(time.DateOnly))
	}
	return nil
}

// InvalidID says that a field holds what is no id.
func InvalidID(field, given string) error {
	return &ShapeError{Field: field, Problem: "is not an id: " + given}
}

// DecodeOrZero is a value as it was written, or none where that has another form.
func DecodeOrZero[T any](data json.RawMessage) (value T) {
	if json.Unmarshal(data, &value) != nil {
		return *new(T)
	}
	return value
}
