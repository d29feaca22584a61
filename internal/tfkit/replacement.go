package tfkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// Replacement collects the attributes for which a resource is to be replaced.
type Replacement struct {
	Paths          path.Paths
	names, unknown []string
}

// Add notes that an attribute replaces the resource with its configured value.
func (r *Replacement) Add(ctx context.Context, name string, configured attr.Value) {
	r.Paths = append(r.Paths, path.Root(name))
	r.names = append(r.names, name)
	if whole, err := configured.ToTerraformValue(ctx); err == nil && !whole.IsFullyKnown() {
		r.unknown = append(r.unknown, name)
	}
}

// Attributes names them in a sentence.
func (r *Replacement) Attributes() string { return strings.Join(r.names, ", ") }

// UnknownAdvice tells of the attributes that may turn out unchanged, in a sentence that
// follows others. Noun is what is replaced, as in "card".
func (r *Replacement) UnknownAdvice(noun string) string {
	if len(r.unknown) == 0 {
		return ""
	}
	are := "are"
	if len(r.unknown) == 1 {
		are = "is"
	}
	return fmt.Sprintf(" %s %s known only after apply and may turn out the same; the %s is replaced even then. Apply what it depends on first to avoid that.",
		strings.Join(r.unknown, ", "), are, noun)
}
