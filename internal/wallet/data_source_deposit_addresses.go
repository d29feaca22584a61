package wallet

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
)

type addressesDataSource struct {
	session *session.Session
}

var _ datasource.DataSourceWithConfigure = (*addressesDataSource)(nil)

// NewAddressesDataSource makes the data source vcard_deposit_addresses.
func NewAddressesDataSource() datasource.DataSource { return &addressesDataSource{} }

func (d *addressesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_deposit_addresses"
}

func (d *addressesDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.session = session.From(req.ProviderData, &resp.Diagnostics)
}

// currencies are the codes of API §4.12.
func currencies() []string {
	return []string{"btc", "eth", "sol", "usdt", "bnb", "trx", "pol", "ltc", "avax", "arb"}
}

func (d *addressesDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	computed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	address := map[string]schema.Attribute{
		"currency": computed("Code of the coin."),
		"network":  computed("Network that the deposit has to be sent on, for people to read."),
		"address":  computed("Address to send the deposit to."),
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Where crypto deposits top the wallet up. Deposits are converted to USDT once their network has confirmed them.",
		Attributes: map[string]schema.Attribute{
			"currency": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{session.OneOf(currencies()...)},
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

func (d *addressesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m addressesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.session.Require(&resp.Diagnostics, "read the deposit addresses") {
		return
	}
	addresses, err := d.session.Client.DepositAddresses(ctx, m.Currency.ValueString())
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("read the deposit addresses", err))
		return
	}
	m.Addresses, m.ByCurrency = make([]depositAddress, len(addresses)), make(map[string]depositAddress, len(addresses))
	for i, a := range addresses {
		m.Addresses[i] = depositAddress(a)
		if _, found := m.ByCurrency[a.Currency]; !found {
			m.ByCurrency[a.Currency] = depositAddress(a)
		}
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}
