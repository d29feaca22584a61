// Package wallet is all that HCL can say about the account's wallet.
package wallet

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
)

type balanceDataSource struct {
	session *session.Session
}

var _ datasource.DataSourceWithConfigure = (*balanceDataSource)(nil)

// NewBalanceDataSource makes the data source vcard_wallet_balance.
func NewBalanceDataSource() datasource.DataSource { return &balanceDataSource{} }

func (d *balanceDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_wallet_balance"
}

func (d *balanceDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.session = session.From(req.ProviderData, &resp.Diagnostics)
}

func (d *balanceDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	amount := func(description string) schema.NumberAttribute {
		return schema.NumberAttribute{Computed: true, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What the account's wallet and its cards hold at this moment. Terraform reads it before it changes anything, " +
			"unless `depends_on` names what has to be done first.",
		Attributes: map[string]schema.Attribute{
			"balance":             amount("Balance of the wallet in `currency`, with as many decimals as the service shows. Cards are issued and loaded from it, one to one with USD."),
			"currency":            schema.StringAttribute{Computed: true, MarkdownDescription: "Currency that the wallet is held in; `USDT`."},
			"pending_deposits":    amount("Deposits that are detected and not confirmed yet, in `currency`. They are not part of `balance`."),
			"cards_active":        schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of active cards."},
			"cards_total_balance": amount("Sum of the balances on cards, in USD. It is not part of `balance`, and returns to it when cards are terminated."),
		},
	}
}

type balanceModel struct {
	Balance           types.Number `tfsdk:"balance"`
	Currency          types.String `tfsdk:"currency"`
	PendingDeposits   types.Number `tfsdk:"pending_deposits"`
	CardsActive       types.Int64  `tfsdk:"cards_active"`
	CardsTotalBalance types.Number `tfsdk:"cards_total_balance"`
}

func (d *balanceDataSource) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	if !d.session.Require(&resp.Diagnostics, "read the wallet balance") {
		return
	}
	wallet, err := d.session.Client.WalletBalance(ctx)
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("read the wallet balance", err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, balanceModel{
		Balance:           types.NumberValue(wallet.Balance.WithoutNoise().BigFloat()),
		Currency:          types.StringValue(wallet.Currency),
		PendingDeposits:   types.NumberValue(wallet.PendingDeposits.WithoutNoise().BigFloat()),
		CardsActive:       types.Int64Value(int64(wallet.CardsActive)),
		CardsTotalBalance: types.NumberValue(wallet.CardsTotalBalance.WithoutNoise().BigFloat()),
	})...)
}
