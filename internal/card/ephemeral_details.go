package card

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

type cardDetails struct {
	session *session.Session
}

var _ ephemeral.EphemeralResourceWithConfigure = (*cardDetails)(nil)

// NewEphemeralDetails makes the ephemeral resource vcard_card_details.
func NewEphemeralDetails() ephemeral.EphemeralResource { return &cardDetails{} }

func (e *cardDetails) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_card_details"
}

func (e *cardDetails) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	e.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (e *cardDetails) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads a card's number, code and expiry date. You can pass them to a write-only " +
			"attribute or to another provider's configuration. " +
			"They are never written to a state, a plan or a log. The service allows 30 reads per minute. " +
			"Terraform reads once for the plan and once for the apply. " +
			"Requires Terraform 1.10 or OpenTofu 1.11.",
		Attributes: map[string]schema.Attribute{
			"card_id": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.CardID()},
				MarkdownDescription: "Id of the card, of the form `card_…`. A terminated card has no details.",
			},
			"pan":       secret("Full card number."),
			"cvv":       secret("Card verification value."),
			"exp_month": schema.Int64Attribute{Computed: true, MarkdownDescription: "Month of expiry, 1 to 12."},
			"exp_year":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Year of expiry, four digits."},
		},
	}
}

type detailsModel struct {
	CardID   types.String `tfsdk:"card_id"`
	PAN      types.String `tfsdk:"pan"`
	CVV      types.String `tfsdk:"cvv"`
	ExpMonth types.Int64  `tfsdk:"exp_month"`
	ExpYear  types.Int64  `tfsdk:"exp_year"`
}

func (e *cardDetails) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var result detailsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &result)...)
	if resp.Diagnostics.HasError() || !e.session.Require(&resp.Diagnostics, "read the details of a card") {
		return
	}
	// The schema also accepts ids of another form, which a mock of terraform test may make up; see tfkit.CardID.
	if !tfkit.CheckCardID(path.Root("card_id"), result.CardID, &resp.Diagnostics) {
		return
	}
	id := result.CardID.ValueString()
	details, err := e.session.Client.CardDetails(ctx, id)
	if err != nil {
		resp.Diagnostics.Append(e.readFailed(ctx, id, err))
		return
	}
	result.PAN = types.StringValue(details.PAN.Reveal())
	result.CVV = types.StringValue(details.CVV.Reveal())
	result.ExpMonth = types.Int64Value(int64(details.ExpMonth))
	result.ExpYear = types.Int64Value(int64(details.ExpYear))
	resp.Diagnostics.Append(resp.Result.Set(ctx, result)...)
}

// readFailed returns the error for details that could not be read. If the card's status may be the reason, it reads
// the card to give advice.
func (e *cardDetails) readFailed(ctx context.Context, id string, err error) diag.Diagnostic {
	operation := "read the details of card " + id
	rejected, ok := errors.AsType[*transport.Error](err)
	terminated := ok && rejected.Code == "card_terminated"
	var card api.CardSummary
	if statusRejection(err) != nil {
		card, _ = e.session.Client.GetCard(ctx, id) // if this fails, the card stays empty
	}
	if terminated || card.Status == api.StatusTerminated {
		return diag.NewErrorDiagnostic("Could not "+operation, session.Cause(err)+
			"\n\nThe card is permanently terminated, so it has no details. "+
			"Set card_id to the id of a live card, or remove this ephemeral resource from the configuration.")
	}
	return rejection(card.Status, operation, err)
}
