package wallet

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// NewAddressesDataSource makes the data source vcard_deposit_addresses.
func NewAddressesDataSource() datasource.DataSource {
	return &tfkit.DataSource[addressesModel]{
		Name: "deposit_addresses", Does: "read the deposit addresses",
		About: aboutAddresses, Fill: fillAddresses,
	}
}

// currencies are the codes of API §4.12.
func currencies() []string {
	return []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
}

func aboutAddresses() schema.Schema {
	address := map[string]schema.Attribute{
		"currency": tfkit.Computed("Code of the coin."),
		"network":  tfkit.Computed("Network that the deposit has to be sent on, for people to read."),
		"address":  tfkit.Computed("Address to send the deposit to."),
	}
	return schema.Schema{
		MarkdownDescription: "Where crypto deposits top the wallet up. Deposits are converted to USDT once their network has confirmed them.",
		Attributes: map[string]schema.Attribute{
			"currency": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.OneOf(currencies()...)},
				MarkdownDescription: "Only this coin, one of `" + strings.Join(currencies(), "`, `") + "`. Default: all coins.",
			},
			"addresses": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The addresses, in the service's order.",
				NestedObject:        schema.NestedAttributeObject{Attributes: address},
			},
			"by_currency": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The same addresses by the code of their coin; the first one where a coin has several.",
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
	m.Addresses, m.ByCurrency = make([]depositAddress, len(addresses)), make(map[string]depositAddress, len(addresses))
	for i, a := range addresses {
		m.Addresses[i] = depositAddress{Currency: a.Currency.String(), Network: a.Network.String(), Address: a.Address.String()}
		if _, found := m.ByCurrency[m.Addresses[i].Currency]; !found {
			m.ByCurrency[m.Addresses[i].Currency] = m.Addresses[i]
		}
	}
	return nil
}
