package display_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/display"
)

func TestSentence(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"":                 "",
		"x":                "X.",
		"it is not a file": "It is not a file.",
		"Already one.":     "Already one.",
		"über":             "Über.",
	} {
		if got := display.Sentence(message); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"0":           "0",
		"999":         "999",
		"1000":        "1,000",
		"-100.00":     "-100.00",
		"+100.00":     "+100.00",
		"-1234567.89": "-1,234,567.89",
		"+123456":     "+123,456",
	} {
		if got := display.Thousands(number); got != want {
			t.Errorf("%q: got %q, want %q", number, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	got := display.Printable("a\x1b[2J\u202eb\nc")
	if want := "a\ufffd[2J\ufffdb\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
