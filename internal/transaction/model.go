package transaction

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

type model struct {
	CardID       types.String       `tfsdk:"card_id"`
	Type         types.String       `tfsdk:"type"`
	From         types.String       `tfsdk:"from"`
	To           types.String       `tfsdk:"to"`
	MaxResults   types.Int64        `tfsdk:"max_results"`
	Transactions []transaction      `tfsdk:"transactions"`
	Truncated    types.Bool         `tfsdk:"truncated"`
	Summary      map[string]summary `tfsdk:"summary"`
}

type transaction struct {
	ID        string       `tfsdk:"id"`
	CardID    string       `tfsdk:"card_id"`
	Type      string       `tfsdk:"type"`
	Amount    types.Number `tfsdk:"amount"`
	Currency  string       `tfsdk:"currency"`
	Fee       types.Number `tfsdk:"fee"`
	Merchant  merchant     `tfsdk:"merchant"`
	CreatedAt string       `tfsdk:"created_at"`
}

type merchant struct {
	Name string `tfsdk:"name"`
	MCC  string `tfsdk:"mcc"`
}

func listed(t api.Transaction) transaction {
	return transaction{
		ID: t.ID, CardID: t.CardID, Type: string(t.Type),
		Amount: usdtype.Of(t.Amount).NumberValue, Currency: t.Currency, Fee: usdtype.Of(t.Fee).NumberValue,
		Merchant: merchant(t.Merchant), CreatedAt: t.CreatedAt,
	}
}
