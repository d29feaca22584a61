package card

import "slices"

const otherCategory = "other"

// mccRange is a range of codes, both ends included. Codes have one width, so that
// the order of the texts is the order of the numbers.
type mccRange struct{ first, last string }

type category struct {
	name  string
	codes []mccRange
}

// categories returns those with codes of their own. No code is in two.
func categories() []category {
	return []category{
		{"advertising", []mccRange{{"7311", "7311"}, {"7333", "7333"}}},
		{"software", []mccRange{{"4816", "4816"}, {"5734", "5734"}, {"5817", "5818"}, {"7372", "7372"}, {"7375", "7375"}, {"7379", "7379"}}},
		{"travel", []mccRange{{"3000", "3999"}, {"4411", "4411"}, {"4511", "4511"}, {"4582", "4582"}, {"4722", "4723"}, {"7011", "7012"}, {"7032", "7033"}, {"7512", "7519"}}},
		{"retail", []mccRange{{"5200", "5399"}, {"5611", "5733"}, {"5735", "5735"}, {"5931", "5974"}, {"5977", "5999"}}},
		{"food", []mccRange{{"5411", "5499"}, {"5811", "5814"}, {"5921", "5921"}}},
		{"entertainment", []mccRange{{"5815", "5816"}, {"7829", "7841"}, {"7911", "7999"}}},
		{"utilities", []mccRange{{"4900", "4900"}}},
		{"telecom", []mccRange{{"4812", "4815"}, {"4821", "4821"}, {"4899", "4899"}}},
		{"education", []mccRange{{"8211", "8299"}, {"8351", "8351"}}},
		{"health", []mccRange{{"5047", "5047"}, {"5122", "5122"}, {"5912", "5912"}, {"5975", "5976"}, {"8011", "8099"}}},
		{"transport", []mccRange{{"4011", "4011"}, {"4111", "4131"}, {"4214", "4225"}, {"4784", "4789"}, {"5541", "5542"}, {"7523", "7523"}}},
		{"finance", []mccRange{{"4829", "4829"}, {"6010", "6540"}}},
		{"government", []mccRange{{"9211", "9405"}}},
	}
}

func categoryNames() []string {
	var names []string
	for _, c := range categories() {
		names = append(names, c.name)
	}
	return append(names, otherCategory)
}

// MCCOf returns a merchant category code of a category.
func MCCOf(name string) string {
	for _, c := range categories() {
		if c.name == name {
			return c.codes[0].first
		}
	}
	return "0742" // of no category with codes of its own
}

// CategoryOf returns the category of a merchant category code of four digits.
func CategoryOf(code string) string {
	for _, c := range categories() {
		if slices.ContainsFunc(c.codes, func(r mccRange) bool { return r.first <= code && code <= r.last }) {
			return c.name
		}
	}
	return otherCategory
}
