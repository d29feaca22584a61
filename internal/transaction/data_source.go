// Package transaction is all that HCL can say about transactions.
package transaction

import (
	"context"
	"fmt"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// NewDataSource makes the data source vcard_transactions.
func NewDataSource() datasource.DataSource {
	return &tfkit.DataSource[model]{
		Name: "transactions", Does: "read the transactions",
		About: about, Check: checkPeriod, Fill: fill,
	}
}

type model struct {
	CardID       types.String                  `tfsdk:"card_id"`
	Type         types.String                  `tfsdk:"type"`
	From         types.String                  `tfsdk:"from"`
	To           types.String                  `tfsdk:"to"`
	MaxResults   types.Number                  `tfsdk:"max_results"`
	Transactions []transaction                 `tfsdk:"transactions"`
	Truncated    types.Bool                    `tfsdk:"truncated"`
	Summary      map[string]summary            `tfsdk:"summary"`
	ByCard       map[string]map[string]summary `tfsdk:"by_card"`
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

func fill(ctx context.Context, s *session.Session, m *model, diags *diag.Diagnostics) error {
	if !tfkit.RequireCardID(path.Root("card_id"), m.CardID, diags) {
		return nil
	}
	problems, err := m.read(s.Client.Transactions(ctx, m.filter()))
	if err == nil {
		diags.Append(problems.warning()...)
	}
	return err
}

func (m *model) filter() api.TransactionFilter {
	filter := api.TransactionFilter{CardID: m.CardID.ValueString(), Type: api.TransactionType(m.Type.ValueString())}
	filter.From, _, _ = span(m.From.ValueString()) // the zero time when it is not set
	_, filter.To, _ = span(m.To.ValueString())
	return filter
}

// maxSums are more than there are cards with purchases in a period.
const maxSums = 50_000

// read lists the first transactions, up to max_results, and sums up all of them
// but those that it returns as problems.
func (m *model) read(found iter.Seq2[api.Transaction, error]) (problems unreadable, err error) {
	limit := int64(defaultMaxResults)
	if !m.MaxResults.IsNull() {
		limit, _ = m.MaxResults.ValueBigFloat().Int64()
	}
	count, sums := int64(0), 0
	all, byCard := totals{}, map[string]totals{}
	m.Transactions = []transaction{}
	for t, err := range found {
		if err != nil {
			return problems, err
		}
		if count++; count <= limit {
			m.Transactions = append(m.Transactions, transactionFromAPI(t))
		}
		if t.Problem != "" {
			problems.add(t)
			continue
		}
		card := t.CardID
		if byCard[card] == nil {
			byCard[card] = totals{}
		}
		if sums += all.add(t) + byCard[card].add(t); sums > maxSums {
			return problems, fmt.Errorf("list transactions: they are of more than %d cards, currencies and types together; ask for a shorter period, or for one card_id", maxSums)
		}
	}
	m.Truncated = types.BoolValue(count > limit)
	m.Summary, m.ByCard = all.summaries(), make(map[string]map[string]summary, len(byCard))
	for card, sums := range byCard {
		m.ByCard[card] = sums.summaries()
	}
	return problems, nil
}

func transactionFromAPI(t api.Transaction) transaction {
	shown := transaction{
		ID:        t.ID,
		CardID:    t.CardID,
		Type:      string(t.Type),
		Currency:  t.Currency,
		Merchant:  merchant{Name: t.Merchant.Name.String(), MCC: t.Merchant.MCC.String()},
		CreatedAt: string(t.CreatedAt),
	}
	if t.Problem == "" {
		shown.Amount, shown.Fee = types.NumberValue(t.Amount.BigFloat()), types.NumberValue(t.Fee.BigFloat())
	}
	return shown
}
