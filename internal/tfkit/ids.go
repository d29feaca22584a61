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
	// idForm allows the usual characters of tokens, but no slash. A token has up to 251 characters, so that a card's id
	// has up to 256.
	idForm = regexp.MustCompile(`^(card|wh)_[A-Za-z0-9._~:=+-]{1,251}$`)
	// notCardIDForm matches an id with the prefix of another object, and a card's prefix alone.
	notCardIDForm = regexp.MustCompile(`^((wh|txn|3ds|bin|evt)_.*|card_)$`)
)

// IsCardID reports whether a text has the documented form of a card's id.
func IsCardID(text string) bool { return strings.HasPrefix(text, "card_") && idForm.MatchString(text) }

// IsWebhookID reports whether a text has the documented form of an endpoint's id.
func IsWebhookID(text string) bool { return strings.HasPrefix(text, "wh_") && idForm.MatchString(text) }

// IdentityByID returns the identity schema of a resource that is identified by its id alone.
func IdentityByID(description string) identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id": identityschema.StringAttribute{RequiredForImport: true, Description: description},
	}}
}

// CardID requires an id that may belong to a card. It does not require the documented form, because a provider that
// `terraform test` mocks may make up ids.
func CardID() validator.String {
	return cardIDRule(func(id string) bool { return transport.IsID(id) && !notCardIDForm.MatchString(id) })
}

// CheckCardID reports whether an optional id has the documented form of a card's id, and adds an error if not. An id that
// is null or unknown is accepted.
func CheckCardID(at path.Path, id types.String, diags *diag.Diagnostics) bool {
	documented := cardIDRule(IsCardID)
	req := validator.StringRequest{Path: at, ConfigValue: id}
	resp := validator.StringResponse{}
	documented.ValidateString(context.Background(), req, &resp)
	diags.Append(resp.Diagnostics...)
	return !resp.Diagnostics.HasError()
}

// cardIDRule requires an id that isValid accepts.
func cardIDRule(isValid func(string) bool) validator.String {
	return Rule("Invalid card id", func(id string) string {
		if isValid(id) {
			return ""
		}
		return fmt.Sprintf("must be a card id of the form card_…, got %q. The dashboard and the data source vcard_cards show the ids.", id)
	})
}

// ImportID returns the id to import. A request contains either the id itself or an identity. If the identity cannot be
// read, ImportID adds an error and returns "".
func ImportID(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) string {
	if req.ID != "" || req.Identity == nil {
		return req.ID
	}
	var id types.String
	diags.Append(req.Identity.GetAttribute(ctx, path.Root("id"), &id)...)
	return id.ValueString()
}

// CreatedAt reads the creation time of an object. If the time is malformed, CreatedAt returns null and adds a warning with
// the object's name.
func CreatedAt(at transport.Timestamp, name string, diags *diag.Diagnostics) timetypes.RFC3339 {
	created, problems := timetypes.NewRFC3339Value(string(at))
	if problems.HasError() {
		diags.AddWarning("Unreadable creation time",
			"The creation time of "+name+" is not an RFC 3339 time, so created_at stays null. "+
				"No other attribute is affected. Report this to the service's support.")
		return timetypes.NewRFC3339Null()
	}
	return created
}

// InvalidIDs collects, for a warning, records whose id or whose owner's id is malformed.
type InvalidIDs struct {
	count int
	named []string // descriptions of the first of these records
}

// AddIfMalformed adds a record to the warning if its own id or its owner's id is malformed. It reports whether it has
// added the record. The owner is an id, or "" for a record without an owner.
func (i *InvalidIDs) AddIfMalformed(id, owner string) bool {
	hasValidOwner := owner == "" || transport.IsID(owner)
	if hasValidOwner && transport.IsID(id) {
		return false
	}
	const maxNamed = 10
	i.count++
	if i.count > maxNamed {
		return true
	}
	name := id
	if owner != "" {
		name += ", of " + owner
	}
	i.named = append(i.named, name)
	return true
}

// Warning returns a warning that names the first of the added records, or nil if there are none. The argument is a
// plural noun that ends in s, such as "cards".
func (i *InvalidIDs) Warning(records string) diag.Diagnostics {
	if i.count == 0 {
		return nil
	}
	const form = "An id may contain only letters, digits and the characters . _ ~ : = + and -. "
	var text string
	if i.count == 1 {
		record := strings.TrimSuffix(records, "s")
		text = fmt.Sprintf("The service returned 1 %s with an invalid id. ", record) + form +
			"The result leaves out this " + record + ", because no request can contain such an id. The id"
	} else {
		text = fmt.Sprintf("The service returned %d %s with invalid ids. ", i.count, records) + form +
			"The result leaves out these " + records + ", because no request can contain such an id. "
		if i.count > len(i.named) {
			text += fmt.Sprintf("The first %d", len(i.named))
		} else {
			text += "The ids"
		}
	}
	text += ", with unsafe characters replaced:\n  - " + strings.Join(i.named, "\n  - ") +
		"\n\nSend this list to the service's support."
	return diag.Diagnostics{diag.NewWarningDiagnostic("Records with invalid ids were left out", text)}
}

// Enumerate joins words for a sentence, as in "url, events and secret".
func Enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Replacement has the attributes whose changes replace a resource.
type Replacement struct {
	Paths   path.Paths
	names   []string
	unknown []string // the names of the attributes whose configured values are not known yet
}

// Add records that the change of an attribute to its configured value replaces the resource.
func (r *Replacement) Add(ctx context.Context, name string, configured attr.Value) {
	r.Paths = append(r.Paths, path.Root(name))
	r.names = append(r.names, name)
	value, err := configured.ToTerraformValue(ctx)
	if err == nil && !value.IsFullyKnown() {
		r.unknown = append(r.unknown, name)
	}
}

// NamesInHCL returns the names of the attributes for a list in HCL, as in "url, events".
func (r *Replacement) NamesInHCL() string { return strings.Join(r.names, ", ") }

// NamesInSentence returns the names of the attributes for a sentence, as in "url and events".
func (r *Replacement) NamesInSentence() string { return Enumerate(r.names) }

// UnknownAdvice names the attributes whose values are known only after apply, and says how to avoid a replacement if
// they do not change. It starts with a space, to follow other sentences, and is "" if there are no such attributes.
// The noun is the object that is replaced, such as "card".
func (r *Replacement) UnknownAdvice(noun string) string {
	if len(r.unknown) == 0 {
		return ""
	}
	attributes := Enumerate(r.unknown)
	if len(r.unknown) == 1 {
		return fmt.Sprintf(" %s is known only after apply. The %s is replaced even if the value does not change. "+
			"To avoid that, first apply the resources that the value depends on.",
			attributes, noun)
	}
	return fmt.Sprintf(" %s are known only after apply. The %s is replaced even if the values do not change. "+
		"To avoid that, first apply the resources that the values depend on.",
		attributes, noun)
}
