package session_test

import (
	"net/http"
	"slices"
	"testing"
)

// What concerns the new cards of a plan together is said once, and only when all
// that was counted is one plan's.
func TestNewCardsOfOnePlan(t *testing.T) {
	t.Parallel()
	const slow, alike = "More than 50 new cards: at least 1 minute at 50 a minute", `Several new cards are labelled "ads"`
	for name, test := range map[string]struct {
		cards int
		label string
		want  []string
	}{
		"as many as a minute has room for": {cards: 50},
		"two more":                         {cards: 52, want: []string{slow}},
		"one with a label":                 {cards: 1, label: "ads"},
		"three with one label":             {cards: 3, label: "ads", want: []string{alike}},
	} {
		for _, ahead := range []int{0, 1} { // configurations that are validated and planned later
			s := against(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
			var said []string
			for range ahead {
				s.Validated()
			}
			for range test.cards {
				s.Validated()
				s.Planned()
				for _, warning := range s.AddNewCard(test.label) {
					said = append(said, warning.Summary())
				}
			}
			if ahead > 0 && said != nil {
				t.Errorf("%s, while others are to be planned: %q", name, said)
			}
			for range ahead {
				s.Planned()
			}
			for range 2 {
				for _, warning := range s.OfOnePlan() {
					said = append(said, warning.Summary())
				}
			}
			if !slices.Equal(said, test.want) {
				t.Errorf("%s: %q, want %q", name, said, test.want)
			}
		}
	}
}
