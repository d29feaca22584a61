package tfkit

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
)

var (
	idForm      = regexp.MustCompile(`^(card|wh)_[A-Za-z0-9._~:=+-]{1,251}$`) // of any alphabet of tokens without a slash
	otherIDForm = regexp.MustCompile(`^((wh|txn|3ds|bin|evt)_.*|card_)$`)
)

// IsCardID reports whether a text has the documented form of a card's id.
func IsCardID(text string) bool { return strings.HasPrefix(text, "card_") && idForm.MatchString(text) }

// IsWebhookID reports whether a text has the documented form of an endpoint's id.
func IsWebhookID(text string) bool { return strings.HasPrefix(text, "wh_") && idForm.MatchString(text) }

// IdentityByID is the identity of a resource that its id alone names.
func IdentityByID(description string) identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id": identityschema.StringAttribute{RequiredForImport: true, Description: description},
	}}
}

// CardID wants what may be the id of a card. Any id will do that is safe and is not another
// object's: a mocked provider makes up ids without the documented form.
func CardID() validator.String {
	return cardID(func(id string) bool { return transport.IsID(id) && !otherIDForm.MatchString(id) })
}

// RequireCardID reports whether an id that a call is about to name has the
// documented form, or is null. It says so when not.
func RequireCardID(at path.Path, id types.String, diags *diag.Diagnostics) bool {
	resp := validator.StringResponse{}
	cardID(IsCardID).ValidateString(context.Background(), validator.StringRequest{Path: at, ConfigValue: id}, &resp)
	diags.Append(resp.Diagnostics...)
	return !resp.Diagnostics.HasError()
}

func cardID(fits func(string) bool) validator.String {
	return Rule("Not a card id", func(id string) string {
		if fits(id) {
			return ""
		}
		return fmt.Sprintf("must be a card id, of the form card_…, got %q. The dashboard and the data source vcard_cards show them.", id)
	})
}

// ImportID returns the id that an import block or command names, by itself or in an identity.
func ImportID(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) string {
	if req.ID != "" || req.Identity == nil {
		return req.ID
	}
	var id types.String
	diags.Append(req.Identity.GetAttribute(ctx, path.Root("id"), &id)...)
	return id.ValueString()
}

// CreatedAt reads a creation time of the service. When it cannot be read, it is
// null, with a warning that names the object.
func CreatedAt(at transport.Timestamp, name string, diags *diag.Diagnostics) timetypes.RFC3339 {
	created, problems := timetypes.NewRFC3339Value(string(at))
	if problems.HasError() {
		diags.AddWarning("Unreadable creation time",
			"What the service says of when "+name+" was created is not an RFC 3339 time. created_at stays empty.")
		return timetypes.NewRFC3339Null()
	}
	return created
}

// Refused are records that the service lists under what is no id, so that nothing can
// name them: they are left out, and counted.
type Refused struct {
	count int
	first []string
}

// Has reports whether a record's id is none, or that of another object which it names,
// and notes the record then.
func (r *Refused) Has(id, other string) bool {
	if transport.IsID(id) && (other == "" || transport.IsID(other)) {
		return false
	}
	const named = 10
	if r.count++; r.count <= named {
		r.first = append(r.first, strings.TrimSuffix(id+", of "+other, ", of "))
	}
	return true
}

// Warning names the first of them, which are of what, as in "cards".
func (r *Refused) Warning(what string) diag.Diagnostics {
	if r.count == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(fmt.Sprintf("Left out for their ids: %d %s", r.count, what),
		fmt.Sprintf("The service lists %s whose ids are none: an id has letters, digits and a few signs. They are in no list here, and cannot be managed:\n  - %s\n\nAsk the service's support about them.",
			what, strings.Join(r.first, "\n  - ")))}
}

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
