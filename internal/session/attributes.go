package session

import (
	"context"
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// CardID wants what looks like a card id; whether there is such a card only the
// service knows.
func CardID() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^card_[^\s/]+$`), "must be a card id, of the form card_…")
}

// ImportID returns the id that an import block or command names, by itself or
// in an identity.
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
func CreatedAt(text, name string, diags *diag.Diagnostics) timetypes.RFC3339 {
	created, problems := timetypes.NewRFC3339Value(text)
	if problems.HasError() {
		diags.AddWarning("Unreadable creation time",
			fmt.Sprintf("The service says that %s was created at %q, which is not an RFC 3339 time. created_at stays empty.", name, text))
		return timetypes.NewRFC3339Null()
	}
	return created
}
