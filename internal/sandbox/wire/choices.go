package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Choice reads one of a few words; missing is what an absent member means.
func (f *Fields) Choice(name, missing string, words ...string) string {
	raw, found := f.take(name)
	if !found {
		return missing
	}
	word := f.text(name, raw)
	if !slices.Contains(words, word) {
		f.Refuse(Invalid("%s must be one of %s", name, strings.Join(words, ", ")))
	}
	return word
}

// Integer reads a number between two bounds; missing is what an absent member
// means.
func (f *Fields) Integer(name string, missing, minimum, maximum int64) int64 {
	raw, found := f.take(name)
	if !found {
		return missing
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < minimum || n > maximum {
		f.Refuse(Invalid("%s must be an integer from %d to %d", name, minimum, maximum))
	}
	return n
}

// Value reads a member of any type, nil when it is absent.
func (f *Fields) Value(name string) json.RawMessage {
	raw, _ := f.take(name)
	return raw
}

// Skip makes a member count as absent.
func (f *Fields) Skip(name string) { delete(f.values, name) }

// HasObject tells whether a member is an object.
func (f *Fields) HasObject(name string) bool { return bytes.HasPrefix(f.values[name], []byte("{")) }
