package card

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// cardID wants what looks like a card id; whether there is such a card only the
// service knows.
func cardID() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^card_[^\s/]+$`), "must be a card id, of the form card_…")
}
