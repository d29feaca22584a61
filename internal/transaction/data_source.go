// Package transaction is all that HCL can say about transactions.
package transaction

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

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

func (d *transactionsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_transactions"
}

func (d *transactionsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.session = session.From(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig checks that the period has room for a transaction.
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
	totals := totals{}
	m.Transactions, m.Truncated = []transaction{}, types.BoolValue(false)
	for t, err := range d.session.Client.Transactions(ctx, m.filter()) {
		if err == nil && m.isFull() {
			m.Truncated = types.BoolValue(true)
			break
		}
		if err == nil {
			m.Transactions = append(m.Transactions, listed(t))
			err = totals.add(t)
		}
		if err != nil {
			resp.Diagnostics.Append(session.Failure("read the transactions", err))
			return
		}
	}
	m.Summary = totals.summaries()
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func (m model) filter() api.TransactionFilter {
	return api.TransactionFilter{
		CardID: m.CardID.ValueString(),
		Type:   api.TransactionType(m.Type.ValueString()),
		From:   onWire(m.From),
		To:     onWire(m.To),
	}
}

func (m model) isFull() bool {
	return !m.MaxResults.IsNull() && int64(len(m.Transactions)) == m.MaxResults.ValueInt64()
}
