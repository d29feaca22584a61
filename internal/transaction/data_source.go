// Package transaction is all that HCL can say about transactions.
package transaction

import (
	"bytes"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
)

type transactionsDataSource struct {
	session *session.Session
}

var (
	_ datasource.DataSourceWithConfigure      = (*transactionsDataSource)(nil)
	_ datasource.DataSourceWithValidateConfig = (*transactionsDataSource)(nil)
)

// NewDataSource makes the data source vcard_transactions.
func NewDataSource() datasource.DataSource { return &transactionsDataSource{} }

func (d *transactionsDataSource) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = typeName
}

func (d *transactionsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.session = session.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig checks that the period does not end before it begins.
func (d *transactionsDataSource) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(checkPeriod(m.From, m.To)...)
	}
}

func (d *transactionsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.session.Require(&resp.Diagnostics, "read the transactions") {
		return
	}
	aside, lean := ctx.Value(rowsKey{}).(*rows)
	if !lean {
		aside = &rows{}
	}
	if err := d.collect(ctx, &m, aside); err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic("read the transactions", err))
		return
	}
	shown := aside
	if lean {
		shown = &rows{} // the server sets in what is put aside
	}
	m.Transactions = shown.list(ctx, resp.State, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}

// collect reads the transactions that m selects, and sums them up.
func (d *transactionsDataSource) collect(ctx context.Context, m *model, into *rows) error {
	sums := totals{}
	m.Truncated = types.BoolValue(false)
	for t, err := range d.session.Client.Transactions(ctx, m.filter()) {
		if err != nil {
			return err
		}
		if !m.MaxResults.IsNull() && int64(into.count) == m.MaxResults.ValueInt64() {
			m.Truncated = types.BoolValue(true)
			break
		}
		if err := into.add(t); err != nil {
			return err
		}
		if err := sums.add(t); err != nil {
			return err
		}
	}
	m.Summary = sums.summaries()
	return nil
}

func (m model) filter() api.TransactionFilter {
	return api.TransactionFilter{
		CardID: m.CardID.ValueString(),
		Type:   api.TransactionType(m.Type.ValueString()),
		From:   onWire(m.From),
		To:     onWire(m.To),
	}
}

// list makes the rows a value of the framework.
func (r *rows) list(ctx context.Context, state tfsdk.State, diags *diag.Diagnostics) types.List {
	bug := func(err error) types.List {
		diags.AddAttributeError(path.Root(listAttribute), "The transactions cannot be listed",
			"Putting them into the form that Terraform wants failed: "+err.Error()+". This is a bug in the provider; please report it.")
		return types.List{}
	}
	attribute := state.Schema.GetAttributes()[listAttribute].GetType()
	var encoded bytes.Buffer
	if err := r.writeTo(&encoded); err != nil {
		return bug(err)
	}
	decoded, err := tfprotov6.DynamicValue{MsgPack: encoded.Bytes()}.Unmarshal(attribute.TerraformType(ctx))
	if err != nil {
		return bug(err)
	}
	value, err := attribute.ValueFromTerraform(ctx, decoded)
	if err != nil {
		return bug(err)
	}
	list, _ := value.(types.List)
	return list
}
