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

// CardID requires a possible card id. That is any safe id that is not another object's, because a mocked
// provider makes up ids without the documented form.
func CardID() validator.String {
	return cardID(func(id string) bool { return transport.IsID(id) && !otherIDForm.MatchString(id) })
}

// RequireCardID reports whether an id for a request is null or has the documented form. If not, it adds an error.
func RequireCardID(at path.Path, id types.String, diags *diag.Diagnostics) bool {
	resp := validator.StringResponse{}
	cardID(IsCardID).ValidateString(context.Background(), validator.StringRequest{Path: at, ConfigValue: id}, &resp)
	diags.Append(resp.Diagnostics...)
	return !resp.Diagnostics.HasError()
}

func cardID(fits func(string) bool) validator.String {
	return Rule("Invalid card id", func(id string) string {
		if fits(id) {
			return ""
		}
		return fmt.Sprintf("must be a card id of the form card_…, got %q. The dashboard and the data source vcard_cards show the ids.", id)
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

// CreatedAt reads a creation time. If it is malformed, CreatedAt returns null and adds a warning.
func CreatedAt(at transport.Timestamp, name string, diags *diag.Diagnostics) timetypes.RFC3339 {
	created, problems := timetypes.NewRFC3339Value(string(at))
	if problems.HasError() {
		diags.AddWarning("Unreadable creation time",
			"The creation time of "+name+" is not an RFC 3339 time. created_at stays null.")
		return timetypes.NewRFC3339Null()
	}
	return created
}

// InvalidIDs counts listed records whose id, or the id of the object they belong to, is malformed. Such
// records are left out, because nothing can refer to them.
type InvalidIDs struct {
	count int
	first []string
}

// Collect reports whether a record's id is malformed, or the id of its owner, if it has one. If so, it also
// counts the record for the warning.
func (i *InvalidIDs) Collect(id, owner string) bool {
	if transport.IsID(id) && (owner == "" || transport.IsID(owner)) {
		return false
	}
	const mostNamed = 10
	i.count++
	if i.count > mostNamed {
		return true
	}
	name := id
	if owner != "" {
		name += ", of " + owner
	}
	i.first = append(i.first, name)
	return true
}

// Warning lists the first of the records, such as "cards". It returns nothing if there are none.
func (i *InvalidIDs) Warning(records string) diag.Diagnostics {
	if i.count == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Records with invalid ids were left out",
		fmt.Sprintf("The service lists %d %s with invalid ids. An id consists of letters, digits and a few signs. "+
			"They are in no list here, and cannot be managed:\n  - %s\n\nAsk the service's support about them.",
			i.count, records, strings.Join(i.first, "\n  - ")))}
}

// Replacement collects the attributes that replace a resource.
type Replacement struct {
	Paths          path.Paths
	names, unknown []string
}

// Add notes that an attribute replaces the resource with its configured value.
func (r *Replacement) Add(ctx context.Context, name string, configured attr.Value) {
	r.Paths = append(r.Paths, path.Root(name))
	r.names = append(r.names, name)
	value, err := configured.ToTerraformValue(ctx)
	if err == nil && !value.IsFullyKnown() {
		r.unknown = append(r.unknown, name)
	}
}

// Attributes lists the names of the attributes.
func (r *Replacement) Attributes() string { return strings.Join(r.names, ", ") }

// UnknownAdvice names the attributes that may turn out unchanged, in sentences that follow others. The
// noun is the object that is replaced, such as "card".
func (r *Replacement) UnknownAdvice(noun string) string {
	if len(r.unknown) == 0 {
		return ""
	}
	are := "are"
	if len(r.unknown) == 1 {
		are = "is"
	}
	return fmt.Sprintf(" %s %s known only after apply. The %s is replaced even if the value does not change. To avoid that, apply what it depends on first.",
		strings.Join(r.unknown, ", "), are, noun)
}
