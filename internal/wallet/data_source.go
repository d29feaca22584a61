// Package wallet has the Terraform types for the account's wallet.
package wallet

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// NewBalanceDataSource makes the data source vcard_wallet_balance.
func NewBalanceDataSource() datasource.DataSource {
	return &tfkit.DataSource[balanceModel]{
		Name: "wallet_balance", Operation: "read the wallet balance",
		NewSchema: balanceSchema, Fill: fillBalance,
	}
}

func balanceSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Reads the balances of the account's wallet and its cards. Terraform reads them before it " +
			"changes anything, unless `depends_on` names the resources to change first.",
		Attributes: map[string]schema.Attribute{
			"balance": tfkit.ComputedNumber("Balance of the wallet in `currency`, with as many decimals as the " +
				"service shows. Cards are issued and loaded from it, one to one with USD."),
			"currency": tfkit.Computed("Currency of the wallet, for example `USDT`."),
			"pending_deposits": tfkit.ComputedNumber("Deposits that the service has detected but not confirmed yet, in `currency`. " +
				"They are not part of `balance`."),
			"cards_active": schema.Int64Attribute{Computed: true, MarkdownDescription: "Number of active cards, null " +
				"if the service does not report it."},
			"cards_total_balance": tfkit.ComputedNumber("Sum of the balances on cards, in USD; " +
				"null if the service does not report it. " +
				"It is not part of `balance`, and returns to it when cards are terminated."),
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

func fillBalance(ctx context.Context, s *session.Session, m *balanceModel, _ *diag.Diagnostics) error {
	wallet, err := s.Client.WalletBalance(ctx)
	if err != nil {
		return err
	}
	*m = balanceModel{
		Balance:           types.NumberValue(wallet.Balance.WithoutNoise().BigFloat()),
		Currency:          types.StringValue(wallet.Currency.String()),
		PendingDeposits:   types.NumberValue(wallet.PendingDeposits.WithoutNoise().BigFloat()),
		CardsActive:       types.Int64PointerValue(wallet.CardsActive),
		CardsTotalBalance: types.NumberNull(),
	}
	if wallet.CardsTotalBalance != nil {
		m.CardsTotalBalance = types.NumberValue(wallet.CardsTotalBalance.WithoutNoise().BigFloat())
	}
	return nil
}

// NewAddressesDataSource makes the data source vcard_deposit_addresses.
func NewAddressesDataSource() datasource.DataSource {
	return &tfkit.DataSource[addressesModel]{
		Name: "deposit_addresses", Operation: "read the deposit addresses",
		NewSchema: addressesSchema, Fill: fillAddresses,
	}
}

// currencies returns the currency codes of API §4.12.
func currencies() []string {
	return []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
}

func addressesSchema() schema.Schema {
	address := map[string]schema.Attribute{
		"currency": tfkit.Computed("Code of the coin."),
		"network":  tfkit.Computed("Display name of the network to send the deposit on."),
		"address":  tfkit.Computed("Address to send the deposit to."),
	}
	return schema.Schema{
		MarkdownDescription: "Lists the addresses for crypto deposits into the wallet. Deposits are converted to USDT " +
			"once their network confirms them.",
		Attributes: map[string]schema.Attribute{
			"currency": tfkit.Filter("Only this coin, one of `"+strings.Join(currencies(), "`, `")+"`. Default: "+
				"all coins.", tfkit.OneOf(currencies()...)),
			"addresses": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The addresses, in the service's order.",
				NestedObject:        schema.NestedAttributeObject{Attributes: address},
			},
			"by_currency": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The same addresses by the code of their coin. If a coin has several addresses, this is the first one.",
				NestedObject:        schema.NestedAttributeObject{Attributes: address},
			},
		},
	}
}

type addressesModel struct {
	Currency   types.String              `tfsdk:"currency"`
	Addresses  []depositAddress          `tfsdk:"addresses"`
	ByCurrency map[string]depositAddress `tfsdk:"by_currency"`
}

type depositAddress struct {
	Currency string `tfsdk:"currency"`
	Network  string `tfsdk:"network"`
	Address  string `tfsdk:"address"`
}

func fillAddresses(ctx context.Context, s *session.Session, m *addressesModel, _ *diag.Diagnostics) error {
	addresses, err := s.Client.DepositAddresses(ctx, m.Currency.ValueString())
	if err != nil {
		return err
	}
	m.Addresses = make([]depositAddress, len(addresses))
	m.ByCurrency = make(map[string]depositAddress, len(addresses))
	for i, a := range addresses {
		address := depositAddress{Currency: a.Currency.String(), Network: a.Network.String(), Address: a.Address.String()}
		m.Addresses[i] = address
		_, found := m.ByCurrency[address.Currency]
		if !found {
			m.ByCurrency[address.Currency] = address
		}
	}
	return nil
}
