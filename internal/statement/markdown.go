package statement

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// maxMarkdown is how long a comment may become, in bytes, before it names the
// rest of the cards by their number: GitHub takes 65,536 characters.
const maxMarkdown = 50_000

// WriteMarkdown writes the statement for a comment on a pull request.
func (s *Statement) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Cards: %s\n", s.headline())
	bullets(&b, "Refused", s.Violations)
	b.WriteString("\n| movement | USD |\n|---|---:|\n")
	for _, part := range s.Wallet.parts() {
		b.WriteString(part.line("| %s | %s |\n"))
	}
	fmt.Fprintf(&b, "\n%s\n", s.counts())
	bullets(&b, "Not known yet", unknownTexts(s.Unknown))
	bullets(&b, "Worth a look", unknownTexts(s.Notes))
	bullets(&b, "Changes besides cards", s.Others)
	if len(s.Cards) > 0 {
		b.WriteString("\n| USD | action | card | details |\n|---:|---|---|---|\n")
		s.table(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes cards while there is room, then the number and the sum of the others.
func (s *Statement) table(b *strings.Builder) {
	for i, card := range s.Cards {
		name := code(card.Address)
		if card.name() != "" {
			name += "<br>" + code(card.name())
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", signed(card.Wallet), card.inWords(), name, card.details())
		if b.Len()+len(row) > maxMarkdown {
			var sum usd.Amount
			for _, left := range s.Cards[i:] {
				sum += left.Wallet
			}
			fmt.Fprintf(b, "\nAnd %d more, together %s USD: `-format text` lists them.\n", len(s.Cards)-i, signed(sum))
			return
		}
		b.WriteString(row)
	}
}

const mostBullets = 20

func bullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s (%d):**\n\n", title, len(items))
	for i, item := range items {
		if i == mostBullets {
			fmt.Fprintf(b, "- and %d more\n", len(items)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", code(item))
	}
}

// code shows foreign text as it is: no markup, no link, no mention of a person, no
// end of a table's cell. All that may be any of these becomes a reference.
func code(text string) string {
	var b strings.Builder
	for _, r := range inline(text) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,;()/-+=", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return "<code>" + strings.ReplaceAll(b.String(), "www.", "www&#46;") + "</code>"
}
