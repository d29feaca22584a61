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

// ShapeError reports that a response does not have the documented shape.
type ShapeError struct {
	Field   string // such as "data[2].balance"
	Problem string // completes "<field> …"; empty if it could show a secret
}

func (e *ShapeError) Error() string {
	text := "the response does not have the documented shape: " + e.Field
	if e.Problem == "" {
		return text
	}
	return text + " " + e.Problem
}

// wholeObject is the Field of an error about an object as a whole.
const wholeObject = "the object"

// withPath returns the error with the path of the object that has the field.
func (e *ShapeError) withPath(path string) *ShapeError {
	if e.Field == wholeObject {
		return &ShapeError{Field: path, Problem: e.Problem}
	}
	return &ShapeError{Field: path + "." + e.Field, Problem: e.Problem}
}

// DecodeObject decodes a JSON object. The required fields must exist, because a missing balance must not be read as
// zero. A null counts as missing. A name in lower case hides the same name in another case, because encoding/json
// would mix the two fields up.
//
// DecodeObject replaces invalid ids; see markInvalidIDs. Other texts should be decoded into a type that is safe to show,
// such as Word or Timestamp. An error other than a *ShapeError means that the body may not come from the service.
func DecodeObject(body []byte, into any, required ...string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
			return errors.New("the response is not a JSON object")
		}
		return errors.New("the response is not valid JSON")
	}
	if len(fields) > maxFields {
		return &ShapeError{Field: wholeObject, Problem: fmt.Sprintf("has more than %d fields", maxFields)}
	}
	countBefore := len(fields)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
		folded := strings.ToLower(strings.ToUpper(name)) // both, because encoding/json also matches "ſ" with "s"
		return name != folded && fields[folded] != nil
	})
	// Nulls are deleted second, because a null "balance" must also hide a "Balance".
	maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	deleted := len(fields) < countBefore
	marked := markInvalidIDs(fields)
	var missing []string
	for _, name := range required {
		_, found := fields[name]
		if !found {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 && len(missing) == len(required) { // the body may be another server's
		return fmt.Errorf("the response lacks %s", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		problem := "is missing"
		if len(missing) > 1 {
			problem = "are missing"
		}
		return &ShapeError{Field: strings.Join(missing, ", "), Problem: problem}
	}
	if deleted || marked {
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
	return findWrongField(fields, into)
}

// findWrongField returns the error for a field that cannot be decoded. To find one, it decodes each field by itself
// into a new value of the type of into. If it finds none, the error is about the whole object.
func findWrongField(fields map[string]json.RawMessage, into any) error {
	objectType := reflect.TypeOf(into).Elem() // into is a pointer
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		object, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err != nil {
			return err
		}
		value := reflect.New(objectType)
		err = json.Unmarshal(object, value.Interface())
		if err != nil {
			return shapeError(name, err)
		}
	}
	return &ShapeError{Field: wholeObject, Problem: "cannot be read"}
}

// shapeError returns the error for a field that encoding/json could not decode because of err.
func shapeError(name string, err error) *ShapeError {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrongType.Value, " ") // "number" if the value is "number 12.5"
		if strings.HasPrefix(wrongType.Field, name) {
			name = wrongType.Field // the path of a nested field
		}
		return &ShapeError{Field: name, Problem: "is a JSON " + kind}
	}
	problem := NewName(err.Error()) // which redacts long numbers
	return &ShapeError{Field: name, Problem: "is " + problem.String()}
}

// List is the envelope of a list.
type List struct {
	Data    []json.RawMessage `json:"data"`
	Page    Count             `json:"page"`
	PerPage Count             `json:"per_page"`
	Total   *Count            `json:"total"`
}

// Count is a whole number.
type Count int

// UnmarshalJSON decodes a whole number, also if it is written as 130.0 or "130". It limits the number to ±2^53.
func (c *Count) UnmarshalJSON(data []byte) error {
	var number json.Number
	err := json.Unmarshal(data, &number)
	if err != nil {
		return errors.New("not a whole number")
	}
	value, err := strconv.ParseFloat(number.String(), 64)
	if err != nil || value != math.Trunc(value) {
		return errors.New("not a whole number")
	}
	const limit = 1 << 53 // a larger float64 may not be exact
	value = max(value, -limit)
	value = min(value, limit)
	*c = Count(value)
	return nil
}

const (
	// maxEntries limits the entries of a page. The service may return all entries on one page.
	maxEntries = 50_000
	maxFields  = 1_000 // of one object
)

// DecodeListFunc decodes a list, and each entry with read. If read fails, DecodeListFunc stops and returns that error.
// The list is also empty if data is null, or if data is missing and total is 0.
func DecodeListFunc[T any](body []byte, read func(i int, data json.RawMessage) (T, error)) ([]T, List, error) {
	var envelope List
	if err := DecodeObject(body, &envelope); err != nil {
		return nil, List{}, err
	}
	if len(envelope.Data) > maxEntries {
		return nil, List{}, &ShapeError{Field: "data", Problem: fmt.Sprintf("has more than %d entries", maxEntries)}
	}
	countsNone := envelope.Total != nil && *envelope.Total == 0
	if envelope.Data == nil && !countsNone {
		// Either the body has no data, or data is null, which counts as an empty list.
		var fields map[string]json.RawMessage
		err := json.Unmarshal(body, &fields)
		if err != nil || fields["data"] == nil {
			return nil, List{}, errors.New("the response lacks data")
		}
	}
	entries := make([]T, len(envelope.Data))
	for i, data := range envelope.Data {
		entry, err := read(i, data)
		if err != nil {
			return nil, List{}, err
		}
		entries[i] = entry
	}
	return entries, envelope, nil
}

// DecodeList decodes a list whose entries must have the required fields.
func DecodeList[T any](body []byte, required ...string) ([]T, List, error) {
	return DecodeListFunc(body, func(i int, data json.RawMessage) (T, error) {
		var entry T
		err := DecodeEntry(i, data, &entry, required...)
		return entry, err
	})
}

// DecodeEntry decodes an entry of a list as DecodeObject does. Its error is a *ShapeError with the path of the entry.
func DecodeEntry(i int, data json.RawMessage, into any, required ...string) error {
	err := DecodeObject(data, into, required...)
	if err == nil {
		return nil
	}
	path := fmt.Sprintf("data[%d]", i)
	shape, ok := errors.AsType[*ShapeError](err)
	if ok {
		return shape.withPath(path)
	}
	// The entry is not an object, or has none of the required fields.
	return &ShapeError{Field: path, Problem: "lacks " + strings.Join(required, ", ")}
}

// Timestamp is a time in RFC 3339, or any other value that the service sent instead, as a Word shows it.
type Timestamp string

// UnmarshalJSON decodes a time in one of several forms of ISO 8601. A time without a zone is in UTC (API §1). Any other
// value is not an error, so that an invalid time does not make a whole card or challenge unreadable.
func (t *Timestamp) UnmarshalJSON(data []byte) error {
	*t = Timestamp(stringOrEmpty(data))
	_, err := t.Time()
	if err == nil {
		return nil
	}
	text := strings.ToUpper(string(*t))       // "t" and "z" become "T" and "Z"
	text = strings.Replace(text, " ", "T", 1) // a space may separate date and time
	_, err = time.Parse("2006-01-02T15:04:05", text)
	if err == nil {
		*t = Timestamp(text + "Z") // UTC
		return nil
	}
	layouts := []string{
		"2006-01-02T15:04:05Z07:00",
		"2006-01-02T15:04:05Z0700",
		"2006-01-02T15:04:05Z07",
		"20060102T150405Z0700",
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		if err == nil {
			*t = Timestamp(at.Format(time.RFC3339Nano))
			return nil
		}
	}
	other := NewWord(stringOrJSON(data))
	*t = Timestamp(other.String())
	return nil
}

// Time parses the timestamp.
func (t Timestamp) Time() (time.Time, error) { return time.Parse(time.RFC3339, string(t)) }

// Date is a day as YYYY-MM-DD, or "" if it is not known.
type Date string

// UnmarshalJSON decodes a date or the date of a time. Any other value becomes "".
func (d *Date) UnmarshalJSON(data []byte) error {
	*d = ""
	text := DecodeOrZero[Timestamp](data)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		at, err := time.Parse(layout, string(text))
		if err == nil {
			*d = Date(at.Format(time.DateOnly))
		}
	}
	return nil
}

// InvalidID returns the *ShapeError for a field whose value is not an id.
func InvalidID(field, value string) error {
	return &ShapeError{Field: field, Problem: "is not a valid id: " + value}
}

// DecodeOrZero decodes a value, or returns the zero value if data has another form.
func DecodeOrZero[T any](data json.RawMessage) T {
	var value T
	err := json.Unmarshal(data, &value)
	if err != nil {
		var zero T // value may be partly set
		return zero
	}
	return value
}

// stringOrEmpty returns the text of a JSON string, or "" for any other value. The text is not redacted.
func stringOrEmpty(data json.RawMessage) string {
	var text string
	err := json.Unmarshal(data, &text)
	if err != nil {
		return ""
	}
	return text
}
