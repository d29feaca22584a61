package transaction

import "github.com/hashicorp/terraform-plugin-framework/types"

type model struct {
	CardID       types.String       `tfsdk:"card_id"`
	Type         types.String       `tfsdk:"type"`
	From         types.String       `tfsdk:"from"`
	To           types.String       `tfsdk:"to"`
	MaxResults   types.Int64        `tfsdk:"max_results"`
	Transactions types.List         `tfsdk:"transactions"`
	Truncated    types.Bool         `tfsdk:"truncated"`
	Summary      map[string]summary `tfsdk:"summary"`
}
