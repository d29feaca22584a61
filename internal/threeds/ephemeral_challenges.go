// Package threeds has the Terraform types for 3D Secure challenges.
package threeds

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

type challengesResource struct {
	session *session.Session
}

var _ ephemeral.EphemeralResourceWithConfigure = (*challengesResource)(nil)

// NewChallenges makes the ephemeral resource vcard_3ds_challenges.
func NewChallenges() ephemeral.EphemeralResource { return &challengesResource{} }

func (r *challengesResource) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_3ds_challenges"
}

func (r *challengesResource) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	r.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (r *challengesResource) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	computed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads pending 3D Secure challenges with their one-time codes, which are never written to a plan or state. " +
			"Challenges expire within minutes, so a challenge that a plan reads may have expired by the time you apply. " +
			"Requires Terraform 1.10 or OpenTofu 1.11.",
		Attributes: map[string]schema.Attribute{
			"card_id": schema.StringAttribute{
				Optional: true, Validators: []validator.String{tfkit.CardID()},
				MarkdownDescription: "Only challenges of this card. Default: all cards.",
			},
			"status": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "Only challenges with this status. Default: `pending`.",
			},
			"challenges": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The challenges that match the filters, in the service's order.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":       computed("Challenge id, of the form `3ds_…`."),
					"card_id":  computed("Id of the card that pays."),
					"merchant": computed("Name of the merchant that asks for the payment."),
					"amount":   schema.NumberAttribute{Computed: true, MarkdownDescription: "Exact amount of the payment in USD."},
					"otp": schema.StringAttribute{
						Computed: true, Sensitive: true,
						MarkdownDescription: "One-time code that confirms the payment. Null if the service does not show it.",
					},
					"status":     computed("Status of the challenge, such as `pending`."),
					"expires_at": computed("When the challenge expires, as reported by the service: ISO 8601, UTC."),
				}},
			},
		},
	}
}

type model struct {
	CardID     types.String `tfsdk:"card_id"`
	Status     types.String `tfsdk:"status"`
	Challenges []challenge  `tfsdk:"challenges"`
}

type challenge struct {
	ID        string       `tfsdk:"id"`
	CardID    string       `tfsdk:"card_id"`
	Merchant  string       `tfsdk:"merchant"`
	Amount    types.Number `tfsdk:"amount"`
	OTP       types.String `tfsdk:"otp"`
	Status    string       `tfsdk:"status"`
	ExpiresAt string       `tfsdk:"expires_at"`
}

func (r *challengesResource) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !r.session.Require(&resp.Diagnostics, "read the 3D Secure challenges") {
		return
	}
	// The validator of card_id accepts more than the documented form.
	if !tfkit.CheckCardID(path.Root("card_id"), m.CardID, &resp.Diagnostics) {
		return
	}
	if m.Status.IsNull() {
		m.Status = types.StringValue(api.ChallengePending)
	}
	challenges, err := r.session.Client.Challenges(ctx, m.Status.ValueString())
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("read the 3D Secure challenges", err))
		return
	}
	m.Challenges = []challenge{}
	var invalid tfkit.InvalidIDs
	for _, c := range challenges {
		if invalid.AddIfMalformed(c.ID, c.CardID) {
			continue
		}
		if !m.CardID.IsNull() && m.CardID.ValueString() != c.CardID {
			continue
		}
		m.Challenges = append(m.Challenges, challenge{
			ID:        c.ID,
			CardID:    c.CardID,
			Merchant:  c.Merchant.String(),
			Amount:    types.NumberValue(c.Amount.BigFloat()),
			OTP:       tfkit.StringOrNull(c.OTP.Reveal()),
			Status:    c.Status.String(),
			ExpiresAt: string(c.ExpiresAt),
		})
	}
	resp.Diagnostics.Append(invalid.Warning("challenges")...)
	resp.Diagnostics.Append(resp.Result.Set(ctx, m)...)
}
