package labels_test

import (
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/labels"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{"": "", " ads ": "ads", "ads  eu": "ads eu", "ads\teu": "ads eu", "Ads": "Ads"} {
		if got := labels.Canonical(label); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", label, got, want)
		}
	}
}

func TestParseGenerated(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.FixedZone("", -2*60*60))
	label := labels.Generate("tf-eu-", now)
	if label == labels.Generate("tf-eu-", now) {
		t.Errorf("two labels are both %q", label)
	}
	prefix, day, ok := labels.ParseGenerated(label)
	if want := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC); prefix != "tf-eu-" || !day.Equal(want) || !ok {
		t.Errorf("ParseGenerated(%q) = %q, %v, %t", label, prefix, day, ok)
	}
	for _, other := range []string{
		"", "ads", "tf-20260301", "20260301-abcdefghij234567klmn", "tf-20260301-abcdefghij234567klm",
		"tf-20260301-ABCDEFGHIJ234567klmn", "tf-20261301-abcdefghij234567klmn",
	} {
		if labels.IsGenerated(other) {
			t.Errorf("%q counts as generated", other)
		}
	}
}
