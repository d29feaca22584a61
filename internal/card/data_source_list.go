package card

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// NewListDataSource makes the data source vcard_cards.
func NewListDataSource() datasource.DataSource {
	return &tfkit.DataSource[cardsModel]{
		Name: "cards", Does: "list cards",
		About: aboutCards, Fill: fillCards,
	}
}

func aboutCards() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Lists all cards of the account that the filters select: the active ones, then the frozen ones, each newest first. Terminated cards, whose labels may have been given to others since, are listed only with `status = \"terminated\"`.",
		Attributes: map[string]schema.Attribute{
			"status": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.OneOf(api.StatusActive, api.StatusFrozen, api.StatusTerminated)},
				MarkdownDescription: "Only cards in this state: `active`, `frozen` or `terminated`. Not set: `active` and `frozen`, the cards that can be managed.",
			},
			"bin_id": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "Only cards that were issued on this BIN. Not set: all BINs.",
			},
			"label": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "Only cards with this label. Not set: all labels.",
			},
			"label_prefix": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.NotEmpty()},
				MarkdownDescription: "Only cards whose label begins with this, such as `tf-` for the labels that the provider generates. Not set: all labels.",
			},
			"ids": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Ids of the cards, in the order of `cards`.",
			},
			"cards": schema.ListNestedAttribute{
				Computed:            true,
				NestedObject:        schema.NestedAttributeObject{Attributes: listItemAttributes()},
				MarkdownDescription: "The cards. Empty when the filters select none.",
			},
		},
	}
}

// cardsModel is the data source vcard_cards.
type cardsModel struct {
	Status types.String `tfsdk:"status"`
	BinID  types.String `tfsdk:"bin_id"`
	labelFilter
	IDs   []string        `tfsdk:"ids"`
	Cards []listItemModel `tfsdk:"cards"`
}

func fillCards(ctx context.Context, s *session.Session, found *cardsModel, diags *diag.Diagnostics) error {
	var cards []api.CardListItem // which take less than their values, if the list has no end
	var refused tfkit.Refused
	for card, err := range liveCards(ctx, s.Client, found.BinID.ValueString(), found.Status.ValueString()) {
		if err != nil {
			diags.Append(session.ErrorDiagnostic("list the cards", err))
			return nil
		}
		if refused.Has(card.ID, card.BinID) || !found.selects(card.Label) {
			continue
		}
		cards = append(cards, card)
	}
	found.IDs, found.Cards = make([]string, len(cards)), make([]listItemModel, len(cards))
	for i, card := range cards {
		found.IDs[i], found.Cards[i] = card.ID, listItemFromAPI(card)
	}
	diags.Append(refused.Warning("cards")...)
	return nil
}
