package transaction

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestCheckTime(t *testing.T) {
	t.Parallel()
	const (
		invalid    = "Invalid date or time"
		outOfRange = "Date or time out of range"
		noZone     = "Time has no zone"
	)
	for _, test := range []struct{ text, title string }{
		{"2026-03-01", ""},
		{"2026-03-01T14:00:00Z", ""},
		{"2026-03-01T14:00:00.5+02:00", ""},
		{"2026-02-30", outOfRange},
		{"2026-02-03T25:00:00Z", outOfRange},
		{"2026-02-03T10:00:00", noZone},
		{"2026-02-03T10:00:00.5", noZone},
		{"2026-02-03T10:00", noZone},
		{"2026-02-03 10:00:00", noZone},
		{"yesterday", invalid},
		{"03/01/2026", invalid},
		{"", invalid},
	} {
		title, message := checkTime(test.text)
		if title != test.title {
			t.Errorf("%q: the title is %q, want %q", test.text, title, test.title)
		}
		if title != "" && !strings.Contains(message, `"`+test.text+`"`) {
			t.Errorf("%q: the message does not repeat it: %q", test.text, message)
		}
	}
}

func TestCheckPeriod(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		from, to types.String
		refused  bool
	}{
		{types.StringValue("2026-03-01"), types.StringValue("2026-03-02"), false},
		{types.StringValue("2026-03-01T18:00:00Z"), types.StringValue("2026-03-01"), false},
		{types.StringValue("2026-03-01T12:00:00Z"), types.StringValue("2026-03-01T14:00:00+02:00"), false},
		{types.StringNull(), types.StringValue("2026-03-01"), false},
		{types.StringValue("2026-03-01"), types.StringUnknown(), false},
		{types.StringValue("2026-03-02"), types.StringValue("2026-03-01"), true},
		{types.StringValue("2026-03-02T00:00:00Z"), types.StringValue("2026-03-01"), true},
		{types.StringValue("2026-03-01T12:00:01Z"), types.StringValue("2026-03-01T14:00:00+02:00"), true},
	} {
		var diags diag.Diagnostics
		checkPeriod(model{From: test.from, To: test.to}, &diags)
		if diags.HasError() != test.refused {
			t.Errorf("from %s to %s: refused %t, want %t", test.from, test.to, diags.HasError(), test.refused)
		}
	}
}
