package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// cardAction is what the actions on a card have in common.
type cardAction struct {
	session     *session.Session
	typeName    string // without the provider's
	description string
}

func (a *cardAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.typeName
}

func (a *cardAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func cardIDAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required:            true,
		Validators:          []validator.String{tfkit.CardID()},
		MarkdownDescription: "Id of the card, of the form `card_…`.",
	}
}

// ModifyPlan checks what validation has seen as unknown, the values of variables
// among it.
func (a *cardAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var id types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("card_id"), &id)...)
	checked := validator.StringResponse{}
	tfkit.CardID().ValidateString(ctx, validator.StringRequest{Path: path.Root("card_id"), ConfigValue: id}, &checked)
	resp.Diagnostics.Append(checked.Diagnostics...)
}

// readCard reads the card that an action is about. It returns false, with an error,
// for a card on which nothing can be done. Operation is what is to be done to the
// named card, with %s for its name.
func (a *cardAction) readCard(ctx context.Context, id, operation string, diags *diag.Diagnostics) (api.CardSummary, bool) {
	card, err := a.session.Client.GetCard(ctx, id)
	switch {
	case err != nil:
		diags.Append(session.ErrorDiagnostic(fmt.Sprintf(operation, "card "+id), err))
	case card.Status == api.StatusTerminated:
		name := nameOf(card.CardListItem)
		diags.AddError("Could not "+fmt.Sprintf(operation, name), capitalized(name)+" "+terminatedForGood)
	default:
		return card, true
	}
	return card, false
}

// progress tells the user how far an action is.
func progress(resp *action.InvokeResponse, text string, args ...any) {
	resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf(text, args...)})
}
