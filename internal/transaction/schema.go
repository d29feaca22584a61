package transaction

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

const (
	defaultMaxResults = 1_000
	// highestMaxResults bounds the memory of the list: Terraform and the provider
	// take some kilobytes for each entry.
	highestMaxResults = 10_000
)

// transactionTypes are the types of API §2.2.
func transactionTypes() []string {
	return []string{
		string(api.TransactionAuthorization), string(api.TransactionSettlement),
		string(api.TransactionRefund), string(api.TransactionDecline),
	}
}

func about() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What was spent on the account's cards, newest first, with exact sums. " +
			"The sums cover all transactions that the filters select, whatever `max_results` is; so all pages are read, 100 transactions in a call where the service allows it.",
		Attributes: map[string]schema.Attribute{
			"card_id": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.CardID()},
				MarkdownDescription: "Only transactions of this card. Default: of all cards, terminated ones included.",
			},
			"type": schema.StringAttribute{
				Optional:            true,
				Validators:          []validator.String{tfkit.OneOf(transactionTypes()...)},
				MarkdownDescription: "Only transactions of this type, one of `" + strings.Join(transactionTypes(), "`, `") + "`. Default: all types.",
			},
			"from": schema.StringAttribute{
				Optional: true, Validators: []validator.String{tfkit.TextRule(instant)},
				MarkdownDescription: "Only transactions from here on: an RFC 3339 time with its zone such as `2026-03-01T08:00:00Z`, or a date such as `2026-03-01`, which begins at midnight UTC. Inclusive. Default: from the first one on.",
			},
			"to": schema.StringAttribute{
				Optional: true, Validators: []validator.String{tfkit.TextRule(instant)},
				MarkdownDescription: "Only transactions up to here: an RFC 3339 time with its zone, or a date, which includes that whole day in UTC. Inclusive; not before `from`. Default: up to now.",
			},
			"max_results": schema.NumberAttribute{
				Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(1, highestMaxResults)},
				MarkdownDescription: fmt.Sprintf("How many transactions to list at most, the newest ones, from 1 to %d. Default: %d. It bounds the size of `transactions` alone: `summary` and `by_card` cover the others too.",
					highestMaxResults, defaultMaxResults),
			},
			"transactions": schema.ListNestedAttribute{
				Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: transactionAttributes()},
				MarkdownDescription: "The transactions that pass the filters, newest first, each once, up to `max_results`.",
			},
			"truncated": schema.BoolAttribute{
				Computed:            true,
				MarkdownDescription: "Whether more transactions pass the filters than `max_results` lets into `transactions`.",
			},
			"summary": schema.MapNestedAttribute{
				Computed: true, NestedObject: summaryObject(),
				MarkdownDescription: "What all transactions that pass the filters add up to, by currency code. A currency without transactions has no entry.",
			},
			"by_card": schema.MapAttribute{
				Computed: true, ElementType: types.MapType{ElemType: summaryObject().Type()},
				MarkdownDescription: "The same sums by card id and then by currency code, as in `by_card[\"card_…\"][\"USD\"].net_spend`. A card without transactions has no entry.",
			},
		},
	}
}

func transactionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":       tfkit.Computed("Transaction id, of the form `txn_…`."),
		"card_id":  tfkit.Computed("Id of the card."),
		"type":     tfkit.Computed("One of `" + strings.Join(transactionTypes(), "`, `") + "`."),
		"amount":   tfkit.ComputedNumber("Amount, in `currency`, exact and never negative: `type` says which way it went. Null, with a warning, where the service shows none that can be read; no sum includes it then."),
		"currency": tfkit.Computed("Currency code of `amount` and `fee`, such as `USD`."),
		"fee":      tfkit.ComputedNumber("Fee charged, in `currency`, exact and never negative. Null where `amount` is."),
		"merchant": schema.SingleNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Where the card was used.",
			Attributes: map[string]schema.Attribute{
				"name": tfkit.Computed("Name of the merchant."),
				"mcc":  tfkit.Computed("Merchant category code."),
			},
		},
		"created_at": tfkit.Computed("When it happened, as the service writes it: ISO 8601, UTC."),
	}
}

func summaryObject() schema.NestedAttributeObject {
	return schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
		"counts": schema.MapAttribute{
			Computed: true, ElementType: types.Int64Type,
			MarkdownDescription: "Number of transactions by type. The documented types are always there, with 0 where there is none.",
		},
		"authorized": tfkit.ComputedNumber("Sum of the authorizations, those that were settled since included."),
		"settled":    tfkit.ComputedNumber("Sum of the settlements."),
		"refunded":   tfkit.ComputedNumber("Sum of the refunds."),
		"declined":   tfkit.ComputedNumber("Sum of what was declined. It was not spent."),
		"fees":       tfkit.ComputedNumber("Sum of the fees of all transactions."),
		"net_spend":  tfkit.ComputedNumber("What the cards have cost: `settled`, less `refunded`, plus `fees`. Negative when more came back than went out."),
	}}
}
