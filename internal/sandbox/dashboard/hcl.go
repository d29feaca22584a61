package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
)

// notInName matches what the name of a resource cannot have.
var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// resourceName is what a card may be called in a configuration.
func resourceName(c *card.Card) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(c.Label), "_"), "_")
	if name == "" || name[0] <= '9' {
		name = strings.Trim("card_"+name, "_")
	}
	return name
}

// Config is the card as a configuration declares it.
func (d *cardData) Config() string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "resource \"vcard_card\" %q {\n", resourceName(d.Card))
	lines := [][2]string{{"bin_id", quote(d.BINID)}, {"amount", d.Loaded.String()}}
	if d.Label != "" {
		lines = append(lines, [2]string{"label", quote(d.Label)})
	}
	lines = append(lines, [2]string{"spending_limit", d.SpendingLimit.String()})
	if len(d.AllowedCategories) > 0 {
		var quoted []string
		for _, c := range d.AllowedCategories {
			quoted = append(quoted, quote(c))
		}
		lines = append(lines, [2]string{"allowed_categories", "[" + strings.Join(quoted, ", ") + "]"})
	}
	if d.AutoFreezeAt != nil {
		lines = append(lines, [2]string{"auto_freeze_at", d.AutoFreezeAt.String()})
	}
	if len(d.Metadata) > 0 {
		lines = append(lines, [2]string{"metadata", metadata(d.Metadata)})
	}
	if d.Status == card.Frozen {
		lines = append(lines, [2]string{"frozen", "true"})
	}
	width := 0
	for _, line := range lines {
		width = max(width, len(line[0]))
	}
	for _, line := range lines {
		_, _ = fmt.Fprintf(&b, "  %-*s = %s\n", width, line[0], line[1])
	}
	return b.String() + "}\n"
}

// Import is the block that takes the card over.
func (d *cardData) Import() string {
	return fmt.Sprintf("import {\n  to = vcard_card.%s\n  id = %q\n}\n", resourceName(d.Card), d.PublicID)
}

func metadata(all map[string]json.RawMessage) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var text string
		if json.Unmarshal(all[key], &text) != nil {
			text = string(all[key])
		}
		pairs = append(pairs, quote(key)+" = "+quote(text))
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

// quote writes a text as HCL does, in which templates begin with ${ and %{.
func quote(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029:
			_, _ = fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(b.String()) + `"`
}
