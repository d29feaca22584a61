package statement

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// writeSums writes the sums that are not zero, the net, and the balance of the wallet. Each format has two
// verbs: one for the title and one for the amount.
func (s *Statement) writeSums(b *strings.Builder, sumFormat, balanceFormat string) {
	for _, part := range s.Wallet.parts() {
		if *part.sum != 0 {
			fmt.Fprintf(b, sumFormat, part.title, part.walletChange().Signed())
		}
	}
	fmt.Fprintf(b, sumFormat, "net", s.Wallet.Net.Signed())
	if s.Balance == nil {
		return
	}
	fmt.Fprintf(b, balanceFormat, "wallet holds", s.Balance.Before)
	if s.Balance.After == nil {
		return
	}
	title := "wallet will hold"
	if s.Wallet.Returns != 0 {
		title += ", about"
	}
	fmt.Fprintf(b, balanceFormat, title, *s.Balance.After)
}

func (s *Statement) headline() string {
	text := s.netInWords()
	if !s.Complete {
		text += ", excluding what is not known yet"
	}
	return text + "."
}

func (s *Statement) netInWords() string {
	about := ""
	if s.Wallet.Returns != 0 {
		about = "about "
	}
	net := s.Wallet.Net
	if net < 0 {
		return fmt.Sprintf("The wallet pays %s%s USD", about, -net)
	}
	if net > 0 {
		return fmt.Sprintf("The wallet gets %s%s USD", about, net)
	}
	if slices.ContainsFunc(s.Cards, func(card Card) bool { return card.Sums != Sums{} }) {
		return fmt.Sprintf("The wallet pays and gets %sthe same amount", about)
	}
	return "No money moves"
}

// verbAndPredicate returns the verb for an action, and the words that follow a number of cards, as in "3 frozen".
func (a Action) verbAndPredicate() (verb, predicate string) {
	switch a {
	case Issue:
		return "issue", "new"
	case Replace:
		return "replace", "replaced"
	case Terminate:
		return "terminate", "terminated"
	case Fund:
		return "fund", "funded"
	case Withdraw:
		return "withdraw", "withdrawn from"
	case TopUp:
		return "top up", "topped up"
	case Freeze:
		return "freeze", "frozen"
	case Unfreeze:
		return "unfreeze", "unfrozen"
	case Import:
		return "import", "imported"
	case Forget:
		return "forget", "forgotten"
	case Configure:
		return "change settings", "with changed settings"
	default:
		return string(a), string(a)
	}
}

func (c Card) verbs() string {
	var verbs []string
	for _, action := range c.Actions {
		verb, _ := action.verbAndPredicate()
		verbs = append(verbs, verb)
	}
	return strings.Join(verbs, ", ")
}

func (s *Statement) counts() string {
	var parts []string
	for _, action := range actions() {
		cards := map[string]bool{}
		for _, card := range s.Cards {
			if card.does(action) {
				// An action whose card is not known yet counts as one card.
				cards[cmp.Or(card.key, card.Address)] = true
			}
		}
		if len(cards) > 0 {
			_, predicate := action.verbAndPredicate()
			parts = append(parts, fmt.Sprintf("%d %s", len(cards), predicate))
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
	var details []string
	for _, part := range c.Sums.parts() {
		if *part.sum != 0 {
			details = append(details, fmt.Sprintf(part.detail, *part.sum))
		}
	}
	switch {
	case c.does(Replace) && c.does(Forget):
		details = append(details, "the old card stays live and keeps its balance")
	case c.does(Replace):
		details = append(details, "the card number changes")
	case c.does(Terminate):
		details = append(details, "the card number stops working")
	case c.does(Forget):
		details = append(details, "the card stays live, outside Terraform")
	}
	if c.Baseline != nil {
		details = append(details, fmt.Sprintf("amount starts at %s, which moves no money", *c.Baseline))
	}
	if c.mayTakeMore {
		details = append(details, "the rest is known only during apply")
	}
	return strings.Join(details, ", ")
}

func (u Unknown) String() string {
	if u.Address == "" {
		return u.Reason
	}
	return u.Address + ": " + u.Reason
}

// escapeUnprintable escapes control characters and other invisible characters in JSON. It keeps line breaks.
func escapeUnprintable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || unicode.IsGraphic(r) {
			b.WriteRune(r)
			continue
		}
		// JSON escapes a character by its UTF-16 code units: one or two.
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// sanitizeLine makes a text printable and keeps it on one line: it replaces line breaks and unprintable characters.
func sanitizeLine(text string) string {
	return strings.ReplaceAll(display.Printable(text), "\n", string(unicode.ReplacementChar))
}

const (
	// maxListed is the number of items after which a list counts the remaining ones.
	maxListed = 20
	// maxVerbsWidth limits the width of the column of verbs. A card with longer verbs gets a longer line.
	maxVerbsWidth = 20
)

// WriteText writes the statement for a terminal. It leaves out the violations, which the command reports by itself.
func (s *Statement) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", s.headline())
	// The titles of balances are longer. Both formats have the same total width, so that the amounts align.
	s.writeSums(&b, "  %-20s %14s\n", "  %-23s %11s\n")
	fmt.Fprintf(&b, "\n%s\n", s.counts())
	if len(s.Cards) > 0 {
		b.WriteString("\n")
	}
	columnWidth := 0 // of the column of verbs
	for _, card := range s.Cards {
		verbsWidth := min(len(card.verbs()), maxVerbsWidth)
		columnWidth = max(columnWidth, verbsWidth)
	}
	for _, card := range s.Cards {
		texts := []string{card.Address, card.name(), card.details()}
		texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
		line := fmt.Sprintf("%14s  %-*s  %s", card.Wallet.Signed(), columnWidth, card.verbs(), strings.Join(texts, "; "))
		b.WriteString(sanitizeLine(line) + "\n")
	}
	// The last argument is the number of items to list. Notes are shortened; the other lists are complete.
	writeList(&b, "Not known yet", reasonLines(s.Unknown), len(s.Unknown))
	writeList(&b, "Worth a look", reasonLines(s.Notes), maxListed)
	writeList(&b, "Other changes", s.Others, len(s.Others))
	_, err := io.WriteString(w, b.String())
	return err
}

// writeList writes the number of items, and the items up to the limit.
func writeList(b *strings.Builder, title string, items []string, limit int) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s (%d):\n\n", title, len(items))
	for i, item := range items {
		if i == limit {
			fmt.Fprintf(b, "  and %d more; --format json lists all\n", len(items)-i)
			break
		}
		b.WriteString(sanitizeLine("  "+item) + "\n")
	}
}

func reasonLines(unknowns []Unknown) []string {
	var lines []string
	for _, unknown := range unknowns {
		lines = append(lines, unknown.String())
	}
	return lines
}

// maxMarkdown is the length in bytes after which a comment counts the remaining cards. GitHub accepts 65,536 characters.
const maxMarkdown = 50_000

// WriteMarkdown writes the statement for a comment on a pull request.
func (s *Statement) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Cards: %s\n", s.headline())
	writeBullets(&b, "Refused", s.Violations)
	b.WriteString("\n| movement | USD |\n|---|---:|\n")
	s.writeSums(&b, "| %s | %s |\n", "| %s | %s |\n")
	fmt.Fprintf(&b, "\n%s\n", s.counts())
	writeBullets(&b, "Not known yet", reasonLines(s.Unknown))
	writeBullets(&b, "Worth a look", reasonLines(s.Notes))
	writeBullets(&b, "Other changes", s.Others)
	if len(s.Cards) > 0 {
		b.WriteString("\n| USD | action | card | details |\n|---:|---|---|---|\n")
		s.writeTable(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Statement) writeTable(b *strings.Builder) {
	for i, card := range s.Cards {
		name := codeSpan(card.Address)
		if card.name() != "" {
			name += "<br>" + codeSpan(card.name())
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |\n", card.Wallet.Signed(), card.verbs(), name, card.details())
		if b.Len()+len(row) > maxMarkdown {
			rest := s.Cards[i:]
			var sum usd.Amount
			for _, unlisted := range rest {
				sum += unlisted.Wallet
			}
			fmt.Fprintf(b, "\nAnd %d more, together %s USD: `--format text` lists them.\n", len(rest), sum.Signed())
			return
		}
		b.WriteString(row)
	}
}

func writeBullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n**%s (%d):**\n\n", title, len(items))
	for i, item := range items {
		if i == maxListed {
			fmt.Fprintf(b, "- and %d more\n", len(items)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", codeSpan(item))
	}
}

// codeSpan returns Markdown that shows untrusted text literally. It replaces characters that might have a meaning in
// Markdown, such as the start of a link or the end of a table cell, with character references.
func codeSpan(text string) string {
	var b strings.Builder
	for _, r := range sanitizeLine(text) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,;()/-+=", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	literal := strings.ReplaceAll(b.String(), "www.", "www&#46;") // GitHub turns www. into a link even without markup
	return "<code>" + literal + "</code>"
}
