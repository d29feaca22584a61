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
	notReadable = " The service does not show it: an imported card adopts the first value."

	sandboxCategories = "`advertising`, `software`, `travel`, `retail`, `food`, `entertainment`, `utilities`, `telecom`, `education`, `health`, `transport`, `finance`, `government` and `other`"
)

func (r *cardResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	same := []planmodifier.String{stringplanmodifier.UseStateForUnknown()}
	computed := func(description string, modifiers ...planmodifier.String) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, PlanModifiers: modifiers, MarkdownDescription: description}
	}
	amount := func(description string, least ...validator.Number) schema.NumberAttribute {
		return schema.NumberAttribute{Optional: true, CustomType: usdtype.Type{}, Validators: least, MarkdownDescription: description}
	}
	held := func(description string, modifiers ...planmodifier.Number) schema.NumberAttribute {
		return schema.NumberAttribute{Computed: true, CustomType: usdtype.Type{}, PlanModifiers: modifiers, MarkdownDescription: description}
	}
	limit := amount("What the card may spend in a month, in USD with at most two decimals. Default: the BIN's maximum. "+
		"If you remove it, the card keeps its limit."+replaces, tfkit.AtLeast(usd.Cent))
	limit.Computed = true
	below := amount("Balance in USD, with at most two decimals, below which a plan tops the card up.", tfkit.AtLeast(usd.Cent))
	to := amount("Balance in USD, with at most two decimals, that a top-up restores; at least `below`.", tfkit.AtLeast(0))
	for _, bound := range []*schema.NumberAttribute{&below, &to} {
		bound.Optional, bound.Required = false, true
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: fmt.Sprintf("A virtual payment card, paid from the account's wallet. Creating it costs the load plus a fee of %s USD. Destroying it terminates the card for good and returns its balance to the wallet. ", api.IssuanceFee) +
			"The card's number and code are never in the state; the ephemeral resource `vcard_card_details` reads them.",
		Attributes: map[string]schema.Attribute{
			// Fixed when the card is issued.
			"bin_id": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "BIN to issue the card on. The data source `vcard_bins` lists them, and the plan checks it." + replaces,
			},
			"label": schema.StringAttribute{
				Optional: true, Computed: true,
				Validators: []validator.String{tfkit.Rule("Invalid label", labelLength), tfkit.Rule("Value has control characters", oneLine)},
				MarkdownDescription: fmt.Sprintf("Name of the card, 1 to %d characters. Give each card its own: if the response to a new card is lost, the provider finds the card by its label. ", maxLabelLength) +
					"Default: the provider's `label_prefix`, the day and 20 random characters. If you remove it, the card keeps its label. " +
					"Messages show it, even if the configuration marks it as sensitive." + replaces,
			},
			"spending_limit": limit,
			"allowed_categories": schema.SetAttribute{
				Optional: true, ElementType: types.StringType,
				Validators: []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(tfkit.NotEmpty())},
				MarkdownDescription: "Merchant categories where the card may be used, such as `advertising` and `software`; everything else is " +
					"declined. Default: no restriction. The service does not publish its list. The sandbox has a list of its own: " +
					sandboxCategories + "." + replaces + notReadable,
			},
			"auto_freeze_at": amount("The service freezes the card when its balance drops below this, in USD with at most two decimals. "+
				"Default: never."+replaces+notReadable, tfkit.AtLeast(usd.Cent)),
			"metadata": schema.MapAttribute{
				Optional: true, ElementType: types.StringType,
				Validators:          []validator.Map{mapvalidator.NoNullValues(), mapvalidator.KeysAre(tfkit.NotEmpty())},
				MarkdownDescription: fmt.Sprintf("Key-value pairs stored with the card, at most %d keys.", maxMetadataCount) + replaces + notReadable,
			},

			// Changed on a live card.
			"amount": amount(fmt.Sprintf("What Terraform has loaded onto the card, net, in USD with at most two decimals. Required for a new card: its initial load, at least %s. ", api.MinimumLoad) +
				"Raising it funds the card with the difference, lowering it withdraws the difference. Spending never changes it. " +
				"Without it, Terraform does not manage the load of an imported card; the first value becomes the baseline and moves no money. " +
				"Round computed amounts: `floor(x * 100 + 0.5) / 100`."),
			"frozen": schema.BoolAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "`true` freezes the card: transactions are suspended, it keeps its balance, and `top_up` pauses. `false` unfreezes it, also if somebody else froze it. " +
					"Default: Terraform leaves the card as it is.",
			},
			"top_up": schema.SingleNestedAttribute{
				Optional: true,
				MarkdownDescription: "Keeps the card loaded: a plan that finds less than `below` funds the card up to `to`, and shows it " +
					"as a change of `topped_up`. It pauses while `frozen = true`.",
				Attributes: map[string]schema.Attribute{"below": below, "to": to},
			},
			"max_top_up_per_month": amount("What `top_up` may add in a calendar month (UTC), in USD with at most two decimals. A plan that reaches it adds less, and says so. "+
				"Money on the card that nothing explains counts too. Default: no limit. A replaced or imported card starts at 0.", tfkit.AtLeast(usd.Cent)),
			"deletion_protection": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				MarkdownDescription: "`true` fails every plan that would terminate the card: destroy, replacement, and removal from the configuration. " +
					"Default: `false`. To terminate a protected card, apply `false` first.",
			},

			// What the service says of the card.
			"id":        computed("Card id, of the form `card_…`.", same...),
			"network":   computed("Card network of the BIN, in lower case.", same...),
			"last4":     computed("Last four digits of the card number.", same...),
			"status":    computed("`active`, `frozen` or `terminated`."),
			"balance":   held("USD on the card at the last refresh."),
			"topped_up": held("USD that `top_up` has added since Terraform manages the card."),
			"issuance_fee": held(fmt.Sprintf("USD that issuing the card cost on top of its load, %s. Null on an imported card.", api.IssuanceFee),
				numberplanmodifier.UseStateForUnknown()),
			"created_at": schema.StringAttribute{
				Computed: true, CustomType: timetypes.RFC3339Type{}, PlanModifiers: same,
				MarkdownDescription: "When the card was issued, RFC 3339.",
			},
			"money_record": computed("What the provider remembers so that no money moves twice. Opaque, not secret; it changes when money moves."),
			"expires_at":   computed("Date on which the card expires, `YYYY-MM-DD`. Null on an imported card.", same...),
		},
	}
}

func (r *cardResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = tfkit.IdentityByID("Card id, of the form card_….")
}

// ValidateConfig checks what attributes say together.
func (r *cardResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	decode(ctx, req.Config.Raw, &config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	refuse := func(title string, at path.Path, text string, args ...any) {
		resp.Diagnostics.AddAttributeError(at, title, fmt.Sprintf(text, args...))
	}
	if amount := config.Amount; amount.IsKnown() && amount.Amount() < 0 {
		refuse("Amount too small", path.Root("amount"), "amount must be at least 0, and at least %s USD to issue a card, got %s.", api.MinimumLoad, amount.Amount())
	}
	if n := len(config.Metadata.Elements()); n > maxMetadataCount {
		refuse("Too many metadata keys", path.Root("metadata"), "metadata must have at most %d keys, got %d.", maxMetadataCount, n)
	}
	if categories := config.AllowedCategories; !categories.IsNull() && !categories.IsUnknown() && len(categories.Elements()) == 0 {
		refuse("allowed_categories is empty", path.Root("allowed_categories"),
			`Name at least one category, such as "advertising". For a card without a restriction, leave allowed_categories out or set it to null.`)
	}
	if !config.MaxTopUpPerMonth.IsNull() && config.TopUp.IsNull() {
		refuse("max_top_up_per_month requires top_up", path.Root("max_top_up_per_month"),
			"max_top_up_per_month limits what top_up adds, but top_up is not set. Write top_up = { below = …, to = … }, or remove max_top_up_per_month.")
	}
	if rule, _ := config.readTopUp(ctx); rule != nil && rule.To.Amount() >= 0 && rule.To.Amount() < rule.Below.Amount() {
		refuse("top_up.to is lower than top_up.below", path.Root("top_up").AtName("to"),
			"top_up.to must be at least top_up.below (%s USD), got %s USD.", rule.Below.Amount(), rule.To.Amount())
	}
}
