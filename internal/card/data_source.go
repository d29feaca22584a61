package card

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// NewDataSource makes the data source vcard_card.
func NewDataSource() datasource.DataSource {
	return &tfkit.DataSource[summaryModel]{
		Name: "card", Operation: "read a card",
		NewSchema: singleCardSchema, Check: checkSelector, Fill: fillCard,
	}
}

func singleCardSchema() schema.Schema {
	selector := func(description string, check validator.String) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{check}, MarkdownDescription: description}
	}
	attributes := listItemAttributes()
	attributes["id"] = selector("Id of the card, of the form `card_…`. Set either this or `label`.", tfkit.CardID())
	attributes["label"] = selector("Label of the card. If you set it, exactly one active or frozen card of the account must have it. "+
		"Null if the card with the `id` has no label.", tfkit.NotEmpty())
	attributes["created_at"] = schema.StringAttribute{
		Computed: true, CustomType: timetypes.RFC3339Type{}, MarkdownDescription: "When the card was issued, as an RFC 3339 time.",
	}
	return schema.Schema{
		MarkdownDescription: "Reads one card by its id, even a terminated one, or by its label, if exactly one active " +
			"or frozen card has it. " +
			"For its number and code, use the ephemeral resource `vcard_card_details`.",
		Attributes: attributes,
	}
}

type summaryModel struct {
	listItemModel
	CreatedAt timetypes.RFC3339 `tfsdk:"created_at"`
}

// fillCard adds its errors to diags instead of returning them, so that they have their own titles.
func fillCard(ctx context.Context, s *session.Session, m *summaryModel, diags *diag.Diagnostics) error {
	if !tfkit.CheckCardID(path.Root("id"), m.ID, diags) {
		return nil
	}
	id := m.ID.ValueString()
	label := m.Label
	if m.ID.IsNull() {
		card, problem := findByLabel(ctx, s.Client, label.ValueString())
		if problem != nil {
			diags.Append(problem)
			return nil
		}
		id = card.ID
	}
	summary, err := s.Client.GetCard(ctx, id)
	if err != nil {
		diags.Append(session.ErrorDiagnostic("read card "+id, err))
		return nil
	}
	*m = summaryModel{
		listItemModel: listItemFromAPI(summary.CardListItem),
		CreatedAt:     tfkit.CreatedAt(summary.CreatedAt, nameOf(summary.CardListItem), diags),
	}
	if !label.IsNull() { // keep the configured label; the service may have trimmed it
		m.Label = label
	}
	return nil
}

// checkSelector adds an error unless exactly one of id and label is set. If one of them is unknown, it adds no error.
func checkSelector(m summaryModel, diags *diag.Diagnostics) {
	if m.ID.IsUnknown() || m.Label.IsUnknown() {
		return
	}
	bothOrNeither := m.ID.IsNull() == m.Label.IsNull()
	if bothOrNeither {
		diags.AddError("Exactly one of id and label is required", "Set id to read a card in any status, or label to read the active or frozen card that has it.")
	}
}

// findByLabel returns the live card with a label, or an error if there is not exactly one, or if the cards
// cannot be listed.
func findByLabel(ctx context.Context, client *api.Client, label string) (api.CardListItem, diag.Diagnostic) {
	var found []api.CardListItem
	query := cardQuery{Label: types.StringValue(label)}
	for card, err := range query.find(ctx, client) {
		if err != nil {
			return api.CardListItem{}, session.ErrorDiagnostic(fmt.Sprintf("find the card labelled %q", label), err)
		}
		found = append(found, card)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) == 0 {
		return api.CardListItem{}, diag.NewAttributeErrorDiagnostic(path.Root("label"), "No live card has this label",
			fmt.Sprintf("No active or frozen card of the account has the label %q. Labels are case-sensitive. "+
				"Compare label with the labels in the data source vcard_cards, which lists the live cards. With status = \"terminated\", it lists the terminated ones.", label))
	}
	lines := make([]string, len(found))
	for i, card := range found {
		lines[i] = fmt.Sprintf("  %s   # %s, ending in %s, %s USD", card.ID, card.Status, card.Last4, card.Balance)
	}
	return api.CardListItem{}, diag.NewAttributeErrorDiagnostic(path.Root("label"), "Several live cards have this label",
		fmt.Sprintf("%d live cards have the label %q. Replace label with the id of the card that you mean:\n%s", len(found), label, strings.Join(lines, "\n")))
}

// listItemModel contains the attributes of a card in a list.
type listItemModel struct {
	ID            types.String  `tfsdk:"id"`
	BinID         types.String  `tfsdk:"bin_id"`
	Network       types.String  `tfsdk:"network"`
	Last4         types.String  `tfsdk:"last4"`
	Status        types.String  `tfsdk:"status"`
	Balance       usdtype.Value `tfsdk:"balance"`
	SpendingLimit usdtype.Value `tfsdk:"spending_limit"`
	Label         types.String  `tfsdk:"label"`
}

func listItemFromAPI(c api.CardListItem) listItemModel {
	return listItemModel{
		ID:            types.StringValue(c.ID),
		BinID:         types.StringValue(c.BinID),
		Network:       types.StringValue(c.Network.String()),
		Last4:         types.StringValue(c.Last4.String()),
		Status:        types.StringValue(string(c.Status)),
		Balance:       usdtype.FromAmount(c.Balance),
		SpendingLimit: usdtype.FromAmount(c.SpendingLimit),
		Label:         tfkit.StringOrNull(c.Label.String()),
	}
}

func listItemAttributes() map[string]schema.Attribute {
	amount := func(description string) schema.NumberAttribute {
		return schema.NumberAttribute{Computed: true, CustomType: usdtype.Type{}, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":             tfkit.Computed("Card id, of the form `card_…`."),
		"bin_id":         tfkit.Computed("BIN that the card was issued on."),
		"network":        tfkit.Computed("Card network of the BIN, in lower case."),
		"last4":          tfkit.Computed("Last four digits of the card number."),
		"status":         tfkit.Computed("`active`, `frozen` or `terminated`."),
		"balance":        amount("Balance in USD."),
		"spending_limit": amount("Monthly spending limit in USD."),
		"label":          tfkit.Computed("Name of the card; null if it has none."),
	}
}

// NewListDataSource makes the data source vcard_cards.
func NewListDataSource() datasource.DataSource {
	return &tfkit.DataSource[cardsModel]{
		Name: "cards", Operation: "list the cards",
		NewSchema: cardListSchema, Fill: fillCards,
	}
}

func cardListSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Lists the cards of the account: active cards, then frozen cards, each newest " +
			"first. Terminated cards are listed only with `status = \"terminated\"`.",
		Attributes: map[string]schema.Attribute{
			"status": tfkit.Filter("Only cards in this state: `active`, `frozen` or `terminated`. Default: `active` and `frozen`.",
				tfkit.OneOf(api.StatusActive, api.StatusFrozen, api.StatusTerminated)),
			"bin_id":       tfkit.Filter(onlyBIN, tfkit.NotEmpty()),
			"label":        tfkit.Filter(onlyLabel, tfkit.NotEmpty()),
			"label_prefix": tfkit.Filter(onlyPrefix, tfkit.NotEmpty()),
			"ids":          schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Ids of the cards, in the order of `cards`."},
			"cards": schema.ListNestedAttribute{
				Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: listItemAttributes()},
				MarkdownDescription: "The cards that match the filters.",
			},
		},
	}
}

type cardsModel struct {
	cardQuery
	IDs   []string        `tfsdk:"ids"`
	Cards []listItemModel `tfsdk:"cards"`
}

func fillCards(ctx context.Context, s *session.Session, m *cardsModel, diags *diag.Diagnostics) error {
	// Until their number is known, the cards are kept as CardListItems, because growing a slice of the larger models would
	// cost more.
	var cards []api.CardListItem
	var invalid tfkit.InvalidIDs
	for card, err := range m.find(ctx, s.Client) {
		if err != nil {
			return err
		}
		malformed := invalid.AddIfMalformed(card.ID, card.BinID)
		if !malformed {
			cards = append(cards, card)
		}
	}
	m.IDs = make([]string, len(cards))
	m.Cards = make([]listItemModel, len(cards))
	for i, card := range cards {
		m.IDs[i] = card.ID
		m.Cards[i] = listItemFromAPI(card)
	}
	diags.Append(invalid.Warning("cards")...)
	return nil
}
