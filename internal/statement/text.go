package statement

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// line is one of the lines of the sums, which leave out what is zero, but not the net.
func (p part) line(format string) string {
	if *p.sum == 0 && p.ofCard != "" {
		return ""
	}
	return fmt.Sprintf(format, p.name, signed(p.sign**p.sum))
}

func (s *Statement) headline() string {
	about, text, net := "", "No money moves", s.Wallet.Net
	if s.Wallet.Returns != 0 {
		about = "about "
	}
	switch {
	case net < 0:
		text = fmt.Sprintf("The wallet pays %s%s USD", about, -net)
	case net > 0:
		text = fmt.Sprintf("The wallet gets %s%s USD", about, net)
	case slices.ContainsFunc(s.Cards, func(card Card) bool { return card.Sums != (Sums{}) }):
		text = "The wallet pays as much as it gets"
	}
	if !s.Complete {
		text += ", as far as the plan tells"
	}
	return text + "."
}

// words are those for what a card's line says, and for how many cards.
func (a Action) words() [2]string {
	return map[Action][2]string{
		Issue: {"issue", "new"}, Replace: {"replace", "replaced"}, Terminate: {"terminate", "terminated"}, Fund: {"fund", "funded"},
		Withdraw: {"withdraw", "withdrawn from"}, TopUp: {"top up", "topped up"}, Freeze: {"freeze", "frozen"}, Unfreeze: {"unfreeze", "unfrozen"},
		Import: {"import", "imported"}, Forget: {"forget", "forgotten"}, Configure: {"change settings", "with other settings"},
	}[a]
}

func (c Card) inWords() string {
	words := make([]string, len(c.Actions))
	for i, action := range c.Actions {
		words[i] = action.words()[0]
	}
	return strings.Join(words, ", ")
}

func (s *Statement) counts() string {
	var parts []string
	for _, action := range actions() {
		cards := map[string]bool{}
		for _, card := range s.Cards {
			if card.does(action) {
				cards[cmp.Or(card.key, card.Address)] = true // an action whose card is not known yet stands for one
			}
		}
		if len(cards) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(cards), action.words()[1]))
		}
	}
	if len(parts) == 0 {
		return "No card changes."
	}
	return "Cards: " + strings.Join(parts, ", ") + "."
}

func (c Card) name() string {
	var parts []string
	if c.Label != "" {
		parts = append(parts, fmt.Sprintf("%q", c.Label))
	}
	if c.Last4 != "" {
		parts = append(parts, "ending in "+c.Last4)
	}
	if c.Deposed != "" {
		parts = append(parts, "deposed "+c.Deposed)
	}
	return strings.Join(parts, ", ")
}

func (c Card) details() string {
	var parts []string
	for _, part := range c.Sums.parts() {
		if *part.sum != 0 && part.ofCard != "" {
			parts = append(parts, fmt.Sprintf(part.ofCard, part.sum))
		}
	}
	switch {
	case c.does(Replace) && c.does(Forget):
		parts = append(parts, "the old card stays, with its number and its money")
	case c.does(Replace):
		parts = append(parts, "the number changes")
	case c.does(Terminate):
		parts = append(parts, "the number ends")
	case c.does(Forget):
		parts = append(parts, "the card stays, outside Terraform")
	}
	if c.Baseline != nil {
		parts = append(parts, fmt.Sprintf("amount begins at %s, which moves nothing", *c.Baseline))
	}
	if c.mayTake {
		parts = append(parts, "more is known only during apply")
	}
	return strings.Join(parts, ", ")
}

func (u Unknown) String() string {
	if u.Address == "" {
		return u.Reason
	}
	return u.Address + ": " + u.Reason
}

func signed(a usd.Amount) string {
	if a > 0 {
		return "+" + a.String()
	}
	return a.String()
}

// printable keeps what configurations and services say from moving the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// escaped is JSON, of which all that printable replaces is escaped.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// inline keeps it in its line, too.
func inline(text string) string {
	return strings.ReplaceAll(printable(text), "\n", string(unicode.ReplacementChar))
}

// WriteText writes the statement for a terminal.
func (s *Statement) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(inline(fmt.Sprintf(format, args...)) + "\n") }
	list := func(title string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "\n%s (%d):\n\n", title, len(items))
		}
		for _, item := range items {
			line("  %s", item)
		}
	}
	fmt.Fprintf(&b, "%s\n\n", s.headline())
	for _, part := range s.Wallet.parts() {
		b.WriteString(part.line("  %-20s %14s\n"))
	}
	for _, balance := range s.balanceLines() {
		fmt.Fprintf(&b, "  %-23s %11s\n", balance[0], balance[1])
	}
	fmt.Fprintf(&b, "\n%s\n", s.counts())
	widest := 0
	for _, card := range s.Cards {
		widest = max(widest, min(len(card.inWords()), 20)) // a few have many
	}
	for i, card := range s.Cards {
		if i == 0 {
			b.WriteString("\n")
		}
		texts := slices.DeleteFunc([]string{card.Address, card.name(), card.details()}, func(text string) bool { return text == "" })
		line("%14s  %-*s  %s", signed(card.Wallet), widest, card.inWords(), strings.Join(texts, "; "))
	}
	list("Not known yet", texts(s.Unknown))
	notes := texts(s.Notes)
	if more := len(notes) - mostBullets; more > 0 {
		notes = append(notes[:mostBullets], fmt.Sprintf("and %d more, which --format json lists", more))
	}
	list("Worth a look", notes)
	list("Changes besides cards", s.Others)
	_, err := io.WriteString(w, b.String())
	return err
}

func texts(all []Unknown) (texts []string) {
	for _, one := range all {
		texts = append(texts, one.String())
	}
	return texts
}

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
	for _, balance := range s.balanceLines() {
		fmt.Fprintf(&b, "| %s | %s |\n", balance[0], balance[1])
	}
	fmt.Fprintf(&b, "\n%s\n", s.counts())
	bullets(&b, "Not known yet", texts(s.Unknown))
	bullets(&b, "Worth a look", texts(s.Notes))
	bullets(&b, "Changes besides cards", s.Others)
	if len(s.Cards) > 0 {
		b.WriteString("\n| USD | action | card | details |\n|---:|---|---|---|\n")
		s.table(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

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
			fmt.Fprintf(b, "\nAnd %d more, together %s USD: `--format text` lists them.\n", len(s.Cards)-i, signed(sum))
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
