package card

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/reconcile"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// The service's documented limits for the attributes of a card.
const (
	maxLabelLength   = 64
	maxMetadataCount = 20
)

// model is the configuration, the plan or the state of a card.
type model struct {
	ID                 types.String      `tfsdk:"id"`
	BinID              types.String      `tfsdk:"bin_id"`
	Amount             usdtype.Value     `tfsdk:"amount"`
	Label              types.String      `tfsdk:"label"`
	SpendingLimit      usdtype.Value     `tfsdk:"spending_limit"`
	AllowedCategories  types.Set         `tfsdk:"allowed_categories"`
	AutoFreezeAt       usdtype.Value     `tfsdk:"auto_freeze_at"`
	Metadata           types.Map         `tfsdk:"metadata"`
	Frozen             types.Bool        `tfsdk:"frozen"`
	TopUp              types.Object      `tfsdk:"top_up"`
	MaxTopUpPerMonth   usdtype.Value     `tfsdk:"max_top_up_per_month"`
	DeletionProtection types.Bool        `tfsdk:"deletion_protection"`
	Network            types.String      `tfsdk:"network"`
	Last4              types.String      `tfsdk:"last4"`
	Status             types.String      `tfsdk:"status"`
	Balance            usdtype.Value     `tfsdk:"balance"`
	ToppedUp           usdtype.Value     `tfsdk:"topped_up"`
	IssuanceFee        usdtype.Value     `tfsdk:"issuance_fee"`
	CreatedAt          timetypes.RFC3339 `tfsdk:"created_at"`
	ExpiresAt          types.String      `tfsdk:"expires_at"`
	MoneyRecord        types.String      `tfsdk:"money_record"`
}

// topUpRule is the value of top_up.
type topUpRule struct {
	Below usdtype.Value `tfsdk:"below"`
	To    usdtype.Value `tfsdk:"to"`
}

// readTopUp returns the rule of top_up and true, or nil and true if top_up is null. If the rule or a part of it is
// unknown or cannot be decoded, it returns nil and false.
func (m model) readTopUp(ctx context.Context) (*topUpRule, bool) {
	if m.TopUp.IsNull() {
		return nil, true
	}
	if m.TopUp.IsUnknown() {
		return nil, false
	}
	rule := &topUpRule{}
	diags := m.TopUp.As(ctx, rule, basetypes.ObjectAsOptions{})
	if diags.HasError() {
		return nil, false
	}
	if !rule.Below.IsKnown() || !rule.To.IsKnown() {
		return nil, false
	}
	return rule, true
}

// toAPI returns the request that issues the card.
func (m model) toAPI(ctx context.Context, diags *diag.Diagnostics) api.IssueCardRequest {
	req := api.IssueCardRequest{
		BinID:         m.BinID.ValueString(),
		Amount:        m.Amount.Amount(),
		Label:         m.Label.ValueString(),
		SpendingLimit: m.SpendingLimit.Pointer(),
		AutoFreezeAt:  m.AutoFreezeAt.Pointer(),
	}
	const allowUnhandled = false // a null or unknown element is an error
	diags.Append(m.AllowedCategories.ElementsAs(ctx, &req.AllowedCategories, allowUnhandled)...)
	diags.Append(m.Metadata.ElementsAs(ctx, &req.Metadata, allowUnhandled)...)
	return req
}

// issueCost returns the cost of issuing the card in USD: the load plus the fee. A load that is unknown or below the
// minimum counts as the minimum.
func (m model) issueCost() usd.Amount {
	return max(m.Amount.Amount(), api.MinimumLoad) + api.IssuanceFee
}

// isImported reports whether the card was imported. An imported card has no issuance_fee.
func (m model) isImported() bool { return m.IssuanceFee.IsNull() }

func (m model) record() reconcile.Record {
	return reconcile.ParseRecord(m.ID.ValueString(), m.MoneyRecord.ValueString())
}

func (m *model) setRecord(r reconcile.Record) {
	m.MoneyRecord = types.StringValue(r.Text(m.ID.ValueString()))
}

// setTotalAfter sets the total that a movement changes, topped_up or amount, to its value after the movement.
func (m *model) setTotalAfter(made reconcile.Movement) {
	total := usdtype.FromAmount(made.LoadedBefore + made.Delta)
	if made.Purpose == reconcile.ForTopUp {
		m.ToppedUp = total
	} else {
		m.Amount = total
	}
}

// fromAPI sets the attributes that a list of cards contains.
func (m *model) fromAPI(c api.CardListItem) {
	m.ID = types.StringValue(c.ID)
	m.BinID = types.StringValue(c.BinID)
	m.Network = types.StringValue(c.Network.String())
	m.Last4 = types.StringValue(c.Last4.String())
	// A label that has not changed is kept, because Label.String replaces characters that are unsafe to show.
	if m.Label.ValueString() != c.Label.Raw() {
		m.Label = tfkit.StringOrNull(c.Label.String())
	}
	m.SpendingLimit = m.SpendingLimit.WithAmount(c.SpendingLimit)
	m.setState(c.Status, c.Balance)
}

// fromSummary sets the attributes that the summary of a card contains.
func (m *model) fromSummary(summary api.CardSummary, diags *diag.Diagnostics) {
	m.fromAPI(summary.CardListItem)
	m.CreatedAt = tfkit.CreatedAt(summary.CreatedAt, m.name(), diags)
}

func (m *model) setState(status api.CardStatus, balance usd.Amount) {
	m.Status = types.StringValue(string(status))
	m.Frozen = types.BoolValue(status == api.StatusFrozen)
	m.Balance = m.Balance.WithAmount(balance)
}

// keepPlanned sets frozen, status and balance to their planned values unless these are unknown, because Terraform
// requires that after apply. If the card has changed in the meantime, a later refresh shows it.
func (m *model) keepPlanned(plan model) {
	m.Frozen = knownOr(plan.Frozen, m.Frozen)
	m.Status = knownOr(plan.Status, m.Status)
	m.Balance = knownOr(plan.Balance, m.Balance)
}

// knownOr returns the planned value, or the current one if the planned value is unknown.
func knownOr[V attr.Value](planned, current V) V {
	if planned.IsUnknown() {
		return current
	}
	return planned
}

// name returns the card's name in messages.
func (m model) name() string {
	return cardName(m.ID.ValueString(), m.Label.ValueString(), m.Last4.ValueString())
}

// newCardName returns the name of a card that has no id yet.
func newCardName(label types.String) string {
	if label.ValueString() == "" {
		return "a new card"
	}
	return fmt.Sprintf("the new card %q", label.ValueString())
}

func nameOf(c api.CardListItem) string { return cardName(c.ID, c.Label.String(), c.Last4.String()) }

// cardName names a card in messages, as in `card card_1 ("ads", ending in 7428)`.
func cardName(id, label, last4 string) string {
	var details []string
	if label != "" {
		details = append(details, fmt.Sprintf("%q", label))
	}
	if last4 != "" {
		details = append(details, "ending in "+last4)
	}
	if len(details) == 0 {
		return "card " + id
	}
	return fmt.Sprintf("card %s (%s)", id, strings.Join(details, ", "))
}

// capitalized returns a text with its first letter in upper case. The text must start with an ASCII letter.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// importedModel returns the state of an imported card, without money_record. Attributes that are neither set here nor
// reported by the service are null.
func importedModel(summary api.CardSummary, diags *diag.Diagnostics) model {
	m := model{
		AllowedCategories:  types.SetNull(types.StringType),
		Metadata:           types.MapNull(types.StringType),
		TopUp:              types.ObjectNull(map[string]attr.Type{"below": usdtype.Type{}, "to": usdtype.Type{}}),
		DeletionProtection: types.BoolValue(false),
		ToppedUp:           usdtype.FromAmount(0),
	}
	m.fromSummary(summary, diags)
	return m
}

func pleaseReport(err error) string {
	return "This is a bug in the provider; please report it: " + err.Error()
}

// checkOneLine returns what is wrong with a text that has line breaks or control characters, or "" for any other text.
func checkOneLine(text string) string {
	if tfkit.IsOneLine(text) {
		return ""
	}
	return fmt.Sprintf("must be one line without control characters, got %q. Text from a file usually ends in a line break: remove it with trimspace().", text)
}

// checkLabelLength returns what is wrong with the length of a label, or "".
func checkLabelLength(text string) string {
	n := utf8.RuneCountInString(text)
	if n == 0 {
		return fmt.Sprintf("must have 1 to %d characters, got 0. Leave it out for a generated label.", maxLabelLength)
	}
	if n > maxLabelLength {
		return fmt.Sprintf("must have 1 to %d characters, got %d. Shorten it, for example with substr(…, 0, %d).", maxLabelLength, n, maxLabelLength)
	}
	return ""
}

// decode reads a configuration, a plan or a state. If the value is null, it does nothing. It replaces the framework's
// Get, which is too slow for thousands of cards.
func decode(ctx context.Context, raw tftypes.Value, into *model, diags *diag.Diagnostics) {
	if raw.IsNull() {
		return
	}
	var values map[string]tftypes.Value
	err := raw.As(&values)
	if err != nil {
		diags.AddError("Unreadable card", "The provider could not decode this card. "+pleaseReport(err))
		return
	}
	fields := reflect.ValueOf(into).Elem()
	for i, attribute := range modelAttributes() {
		at := path.Root(attribute.name)
		value, err := attribute.valueType.ValueFromTerraform(ctx, values[attribute.name])
		if err != nil {
			diags.AddAttributeError(at, "Unreadable card", "The provider could not decode this attribute. "+pleaseReport(err))
			continue
		}
		if checked, ok := value.(xattr.ValidateableAttribute); ok {
			var resp xattr.ValidateAttributeResponse
			checked.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{Path: at}, &resp)
			diags.Append(resp.Diagnostics...)
		}
		fields.Field(i).Set(reflect.ValueOf(value))
	}
}

type modelAttribute struct {
	name      string
	valueType attr.Type
}

// modelAttributes returns the attributes of the schema in the order of the model's fields.
var modelAttributes = sync.OnceValue(func() []modelAttribute {
	var resp resource.SchemaResponse
	(&cardResource{}).Schema(context.Background(), resource.SchemaRequest{}, &resp)
	fields := reflect.TypeFor[model]()
	attributes := make([]modelAttribute, fields.NumField())
	for i := range attributes {
		name := fields.Field(i).Tag.Get("tfsdk")
		attributes[i] = modelAttribute{name: name, valueType: resp.Schema.Attributes[name].GetType()}
	}
	return attributes
})

// privateState is the provider's data about a card in Terraform's private state. It contains no secrets. Terraform may
// drop this data, for example if the provider crashes, so the zero value of each field must be safe.
type privateState struct {
	// Shown maps an attribute to the service's value if that differs from the configured one.
	Shown map[string]string `json:"shown,omitempty"`
	// DefaultLimit reports that the spending limit was not configured when Terraform issued the card.
	DefaultLimit bool `json:"default_limit,omitempty"`
	// Month is the month of the last refresh, or 0 if it is not known.
	Month reconcile.Month `json:"month,omitempty"`
	// FrozenOutside reports that a refresh saw the card become frozen.
	FrozenOutside bool `json:"frozen_outside,omitempty"`
	// JustImported makes the next refresh skip its request, because the import has just read the card.
	JustImported bool `json:"just_imported,omitempty"`
	// Replaced describes this card in case the plan replaces it. Terraform then makes a second plan, for the new card.
	// That plan gets no prior state, so it learns about the old card from here.
	Replaced *replacedCard `json:"replaced,omitempty"`
	// TopUpPaused reports that the planned configuration has frozen = true, so that top_up pauses. Apply reads this here,
	// because the configuration that it gets does not take ignore_changes into account.
	TopUpPaused bool `json:"top_up_paused,omitempty"`
	// NextCost is the cost in USD of the card that the plan issues, or 0 if it issues none. It is for the wallet check
	// in Delete, if that card replaces this one.
	NextCost usd.Amount `json:"next_cost,omitzero"`
}

// noteFrozen sets FrozenOutside if the card became frozen since the prior state, and clears the field if the card is not
// frozen.
func (s *privateState) noteFrozen(prior, current model) {
	if !current.Frozen.ValueBool() {
		s.FrozenOutside = false
	} else if !prior.Frozen.ValueBool() {
		s.FrozenOutside = true
	}
}

// replacedCard is a card that the plan may replace. Amounts are in USD.
type replacedCard struct {
	Name      string     `json:"name"`
	Protected bool       `json:"protected"`
	Balance   usd.Amount `json:"balance"`
	// CountedNet and CountedTaken are what the first plan was counted with, as in session.PlannedSpend.
	CountedNet   usd.Amount `json:"counted_net"`
	CountedTaken usd.Amount `json:"counted_taken"`
}

const privateStateKey = "card"

// privateData has the methods of the framework's private state, whose type is in an internal package.
type privateData interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// readPrivateState returns the zero privateState if there is none, or if it is unreadable.
func readPrivateState(ctx context.Context, from privateData, diags *diag.Diagnostics) privateState {
	data, problems := from.GetKey(ctx, privateStateKey)
	diags.Append(problems...)
	var s privateState
	err := json.Unmarshal(data, &s)
	if err != nil {
		return privateState{}
	}
	return s
}

func (s privateState) write(ctx context.Context, to privateData, diags *diag.Diagnostics) {
	data, err := json.Marshal(s)
	if err != nil {
		diags.AddError("Private state cannot be written", "The provider could not encode its data about this card. "+pleaseReport(err))
		return
	}
	diags.Append(to.SetKey(ctx, privateStateKey, data)...)
}
