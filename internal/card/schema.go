package card

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/numberplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

const (
	replaces    = " Changing it replaces the card."
	notReadable = " The service does not report it, so an imported card adopts the first value."

	sandboxCategories = "`advertising`, `software`, `travel`, `retail`, `food`, `entertainment`, `utilities`, " +
		"`telecom`, `education`, `health`, `transport`, `finance`, `government` and `other`"
)

func (r *cardResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	unchanged := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	computed := func(description string, modifiers ...planmodifier.String) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, PlanModifiers: modifiers, MarkdownDescription: description}
	}
	amount := func(description string, checks ...validator.Number) schema.NumberAttribute {
		return schema.NumberAttribute{Optional: true, CustomType: usdtype.Type{}, Validators: checks, MarkdownDescription: description}
	}
	requiredAmount := func(description string, check validator.Number) schema.NumberAttribute {
		return schema.NumberAttribute{
			Required: true, CustomType: usdtype.Type{}, Validators: []validator.Number{check}, MarkdownDescription: description,
		}
	}
	computedAmount := func(description string, modifiers ...planmodifier.Number) schema.NumberAttribute {
		return schema.NumberAttribute{Computed: true, CustomType: usdtype.Type{}, PlanModifiers: modifiers, MarkdownDescription: description}
	}
	limit := amount("Monthly spending limit in USD, with at most two decimals. Default: the BIN's maximum. "+
		"If you remove it, the card keeps its limit."+replaces, tfkit.AtLeast(usd.Cent))
	limit.Computed = true
	below := requiredAmount("Balance in USD, with at most two decimals, below which a plan tops the card up.",
		tfkit.AtLeast(usd.Cent))
	to := requiredAmount("Balance in USD, with at most two decimals, after a top-up; at least `below`.", tfkit.AtLeast(0))
	resp.Schema = schema.Schema{
		MarkdownDescription: fmt.Sprintf("Manages a virtual payment card. Creating it takes the load plus a fee of %s "+
			"USD from the account's wallet. Destroying it terminates the card permanently and returns its balance to the wallet. ", api.IssuanceFee) +
			"The card's number and code are never in the state; the ephemeral resource `vcard_card_details` reads them.",
		Attributes: map[string]schema.Attribute{
			// These attributes cannot change after the card is issued.
			"bin_id": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "BIN to issue the card on. The data source `vcard_bins` lists the BINs. " +
					"The plan checks that the BIN exists." + replaces,
			},
			"label": schema.StringAttribute{
				Optional: true, Computed: true,
				Validators: []validator.String{
					tfkit.Rule("Invalid label", checkLabelLength),
					tfkit.Rule("Value has control characters", checkOneLine),
				},
				MarkdownDescription: fmt.Sprintf("Name of the card, 1 to %d characters. Use a different label for each "+
					"card: if the response to its creation is lost, the provider finds the card by its label. ", maxLabelLength) +
					"Default: the provider's `label_prefix`, the date and 20 random characters. If you remove it, the card keeps its label. " +
					"Messages show the label, even if the configuration marks it as sensitive." + replaces,
			},
			"spending_limit": limit,
			"allowed_categories": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(tfkit.NotEmpty())},
				MarkdownDescription: "Merchant categories where the card may be used, such as `advertising` and `software`; " +
					"payments in other categories are declined. " +
					"Default: all categories. The service does not publish its categories. The sandbox has these: " +
					sandboxCategories + "." + replaces + notReadable,
			},
			"auto_freeze_at": amount("Balance in USD, with at most two decimals, below which the service freezes the card. "+
				"Default: it never does."+replaces+notReadable, tfkit.AtLeast(usd.Cent)),
			"metadata": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				Validators: []validator.Map{
					mapvalidator.NoNullValues(), mapvalidator.KeysAre(tfkit.NotEmpty()), mapvalidator.SizeAtMost(maxMetadataCount),
				},
				MarkdownDescription: fmt.Sprintf("Key-value pairs to store with the card, at most %d.", maxMetadataCount) +
					replaces + notReadable,
			},

			// These attributes can change on a live card.
			"amount": amount(fmt.Sprintf("Total that Terraform loads onto the card, in USD with at most two decimals. "+
				"Required for a new card, as its initial load, which is at least %s. ", api.MinimumLoad) +
				"If you raise it, Terraform funds the card with the difference; if you lower it, Terraform withdraws the " +
				"difference. Spending does not change it. " +
				"An imported card may omit it: then Terraform does not manage its load. The first value becomes the " +
				"baseline and moves no money. " +
				"Round computed amounts: `floor(x * 100 + 0.5) / 100`."),
			"frozen": schema.BoolAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "`true` freezes the card: it declines payments, keeps its balance, and `top_up` " +
					"pauses. `false` unfreezes it, even if someone else froze it. " +
					"Default: Terraform does not change whether the card is frozen.",
			},
			"top_up": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Keeps the card loaded: if the balance is below `below`, the plan funds the card up to " +
					"`to`. The plan shows this as a change of `topped_up`. Top-ups pause while `frozen = true`.",
				Attributes: map[string]schema.Attribute{"below": below, "to": to},
			},
			"max_top_up_per_month": amount("Maximum that `top_up` may add per calendar month (UTC), in USD with at most "+
				"two decimals. A plan that would exceed the maximum adds less and warns. "+
				"Unexplained money on the card counts too. Default: no limit. "+
				"A replacement or imported card starts at 0.", tfkit.AtLeast(usd.Cent)),
			"deletion_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "`true` refuses every plan that would terminate the card: " +
					"destroy, replacement, and removal from the configuration. " +
					"Default: `false`. To terminate a protected card, apply `false` first.",
			},

			// The service or the provider sets these attributes.
			"id":        computed("Card id, of the form `card_…`.", unchanged...),
			"network":   computed("Card network of the BIN, in lower case.", unchanged...),
			"last4":     computed("Last four digits of the card number.", unchanged...),
			"status":    computed("`active`, `frozen` or `terminated`."),
			"balance":   computedAmount("Balance in USD at the last refresh."),
			"topped_up": computedAmount("Total in USD that `top_up` has added since Terraform started to manage the card."),
			"issuance_fee": computedAmount(
				fmt.Sprintf("Fee in USD for issuing the card, %s. Null on an imported card.", api.IssuanceFee),
				numberplanmodifier.UseStateForUnknown(),
			),
			"created_at": schema.StringAttribute{
				Computed: true, CustomType: timetypes.RFC3339Type{}, PlanModifiers: unchanged,
				MarkdownDescription: "When the card was issued, as an RFC 3339 time.",
			},
			"money_record": computed("Data by which the provider recognizes its own transfers, so that no money moves " +
				"twice. It is opaque and not secret, and changes when money moves."),
			"expires_at": computed("Expiry date, `YYYY-MM-DD`. Null on an imported card, and if the response to its creation was lost.", unchanged...),
		},
	}
}

func (r *cardResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = tfkit.IdentityByID("Card id, of the form card_….")
}

// ValidateConfig checks the rules that the validators of the schema do not check.
func (r *cardResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	decode(ctx, req.Config.Raw, &config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	refuse := func(title string, at path.Path, text string, args ...any) {
		resp.Diagnostics.AddAttributeError(at, title, fmt.Sprintf(text, args...))
	}
	if config.Amount.Amount() < 0 {
		refuse("Amount too small", path.Root("amount"), "amount must be at least 0, and at least %s USD to issue a card, got %s.",
			api.MinimumLoad, config.Amount.Amount())
	}
	categories := config.AllowedCategories
	if isKnown(categories) && len(categories.Elements()) == 0 {
		refuse("allowed_categories is empty", path.Root("allowed_categories"),
			`Name at least one category, such as "advertising". For a card without a restriction, leave allowed_categories out or set it to null.`)
	}
	if !config.MaxTopUpPerMonth.IsNull() && config.TopUp.IsNull() {
		refuse("max_top_up_per_month requires top_up", path.Root("max_top_up_per_month"),
			"max_top_up_per_month limits what top_up adds, but top_up is not set. Write top_up = { below = …, to = … }, "+
				"or remove max_top_up_per_month.")
	}
	rule, _ := config.readTopUp(ctx) // nil unless both values are known
	reversed := rule != nil && rule.To.Amount() < rule.Below.Amount()
	if reversed && rule.To.Amount() >= 0 { // the attribute's validator refuses an amount below 0
		refuse("top_up.to is lower than top_up.below", path.Root("top_up").AtName("to"),
			"top_up.to must be at least top_up.below (%s USD), got %s USD. Raise top_up.to, or lower top_up.below.", rule.Below.Amount(), rule.To.Amount())
	}
}
