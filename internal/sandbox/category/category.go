// Package category groups merchants: each category is a set of merchant
// category codes (MCC, ISO 18245).
package category

import "slices"

// other is where every code goes that no category names.
const other = "other"

// span is a range of codes, both ends included. Codes have one width, so that
// the order of the texts is the order of the numbers.
type span struct{ first, last string }

type category struct {
	name  string
	codes []span
}

// named returns the categories with codes of their own. No code is in two.
func named() []category {
	return []category{
		{"advertising", []span{{"7311", "7311"}, {"7333", "7333"}}},
		{"software", []span{{"4816", "4816"}, {"5734", "5734"}, {"5817", "5818"}, {"7372", "7372"}, {"7375", "7375"}, {"7379", "7379"}}},
		{"travel", []span{{"3000", "3999"}, {"4411", "4411"}, {"4511", "4511"}, {"4582", "4582"}, {"4722", "4723"}, {"7011", "7012"}, {"7032", "7033"}, {"7512", "7519"}}},
		{"retail", []span{{"5200", "5399"}, {"5611", "5733"}, {"5735", "5735"}, {"5931", "5974"}, {"5977", "5999"}}},
		{"food", []span{{"5411", "5499"}, {"5811", "5814"}, {"5921", "5921"}}},
		{"entertainment", []span{{"5815", "5816"}, {"7829", "7841"}, {"7911", "7999"}}},
		{"utilities", []span{{"4900", "4900"}}},
		{"telecom", []span{{"4812", "4815"}, {"4821", "4821"}, {"4899", "4899"}}},
		{"education", []span{{"8211", "8299"}, {"8351", "8351"}}},
		{"health", []span{{"5047", "5047"}, {"5122", "5122"}, {"5912", "5912"}, {"5975", "5976"}, {"8011", "8099"}}},
		{"transport", []span{{"4011", "4011"}, {"4111", "4131"}, {"4214", "4225"}, {"4784", "4789"}, {"5541", "5542"}, {"7523", "7523"}}},
		{"finance", []span{{"4829", "4829"}, {"6010", "6540"}}},
		{"government", []span{{"9211", "9405"}}},
	}
}

// Names returns every category that a card can be limited to.
func Names() []string {
	var names []string
	for _, c := range named() {
		names = append(names, c.name)
	}
	return append(names, other)
}

// Of returns the category of a merchant category code of four digits.
func Of(code string) string {
	for _, c := range named() {
		if slices.ContainsFunc(c.codes, func(s span) bool { return s.first <= code && code <= s.last }) {
			return c.name
		}
	}
	return other
}
