package card

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/labels"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// cardListResource lists cards. The embedded resource provides the type name and the session.
type cardListResource struct{ cardResource }

var _ list.ListResourceWithConfigure = (*cardListResource)(nil)

// NewListResource makes the list resource vcard_card.
func NewListResource() list.ListResource { return &cardListResource{} }

// Descriptions of the filters.
const (
	onlyBIN    = "Only cards on this BIN. Default: all BINs."
	onlyLabel  = "Only cards with this label. Default: all labels."
	onlyPrefix = "Only cards whose label starts with this, such as `tf-`, the default prefix of generated " +
		"labels. Default: all labels."
)

func (l *cardListResource) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	filter := func(description string, check validator.String) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Validators: []validator.String{check}, MarkdownDescription: description}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the cards that can be imported, for `terraform query`: active cards, then frozen cards, " +
			"each newest first. With `include_resource`, each card needs one more request. Requires Terraform 1.14.",
		Attributes: map[string]schema.Attribute{
			"status": filter("Only cards in this state: `active` or `frozen`. Default: both. For terminated cards, "+
				"use the data source `vcard_cards` with `status = \"terminated\"`.", tfkit.OneOf(api.StatusActive, api.StatusFrozen)),
			"bin_id":       filter(onlyBIN, tfkit.NotEmpty()),
			"label":        filter(onlyLabel, tfkit.NotEmpty()),
			"label_prefix": filter(onlyPrefix, tfkit.NotEmpty()),
		},
	}
}

// cardQuery contains the filters of a list of cards. The API has no filter for labels.
type cardQuery struct {
	Status      types.String `tfsdk:"status"`
	BinID       types.String `tfsdk:"bin_id"`
	Label       types.String `tfsdk:"label"`
	LabelPrefix types.String `tfsdk:"label_prefix"`
}

// matchesLabel reports whether a card matches the filters label and label_prefix.
func (q cardQuery) matchesLabel(card api.CardListItem) bool {
	label := labels.Canonical(card.Label.Raw())
	if !q.Label.IsNull() && labels.Canonical(q.Label.ValueString()) != label {
		return false
	}
	// A canonical label has no leading spaces.
	prefix := strings.TrimLeft(q.LabelPrefix.ValueString(), " ")
	return strings.HasPrefix(label, prefix)
}

// List streams the cards. If a request fails, the stream ends with an error.
func (l *cardListResource) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var query cardQuery
	diags := req.Config.Get(ctx, &query)
	if diags.HasError() || !l.session.Require(&diags, "list cards") {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		l.pushCards(ctx, req, query, push)
	}
}

// pushCards reads the cards in batches and pushes their results.
func (l *cardListResource) pushCards(ctx context.Context, req list.ListRequest, query cardQuery, push func(list.ListResult) bool) {
	var batch []api.CardListItem
	var invalid tfkit.InvalidIDs
	var count int64
	for card, err := range query.find(ctx, l.session.Client) {
		if err != nil {
			mayContinue := l.pushBatch(ctx, req, batch, push)
			if mayContinue {
				push(list.ListResult{Diagnostics: diag.Diagnostics{session.ErrorDiagnostic("list the cards", err)}})
			}
			return
		}
		malformed := invalid.AddIfMalformed(card.ID, card.BinID)
		if malformed {
			continue
		}
		batch = append(batch, card)
		count++
		if count == req.Limit { // a limit of 0 is none, because count is at least 1
			break
		}
		if len(batch) == batchSize {
			if !l.pushBatch(ctx, req, batch, push) {
				return
			}
			batch = nil
		}
	}
	if !l.pushBatch(ctx, req, batch, push) {
		return
	}
	warning := invalid.Warning("cards")
	if warning != nil {
		push(list.ListResult{Diagnostics: warning})
	}
}

// pushBatch reads cards and pushes their results. It reports whether to continue: it returns false after an error, or
// after push has returned false.
func (l *cardListResource) pushBatch(ctx context.Context, req list.ListRequest, batch []api.CardListItem, push func(list.ListResult) bool) bool {
	for _, result := range l.readAll(ctx, req, batch) {
		if result == nil {
			continue
		}
		wantsMore := push(*result)
		if !wantsMore || result.Diagnostics.HasError() {
			return false
		}
	}
	return true
}

// find returns the cards that match the query. Without a status, it leaves out terminated cards.
func (q cardQuery) find(ctx context.Context, client *api.Client) iter.Seq2[api.CardListItem, error] {
	bin := q.BinID.ValueString()
	status := api.CardStatus(q.Status.ValueString())
	var cards iter.Seq2[api.CardListItem, error]
	if status == "" {
		cards = client.LiveCards(ctx, bin)
	} else {
		cards = client.Cards(ctx, api.CardFilter{Status: status, BinID: bin})
	}
	return func(yield func(api.CardListItem, error) bool) {
		for card, err := range cards {
			if err == nil && !q.matchesLabel(card) {
				continue
			}
			if !yield(card, err) {
				return
			}
		}
	}
}

// batchSize is the number of cards in a full batch.
const batchSize = 8

// readAll reads cards concurrently, and returns the results in the order of the cards. A result may be nil; see
// readCard.
func (l *cardListResource) readAll(ctx context.Context, req list.ListRequest, cards []api.CardListItem) []*list.ListResult {
	results := make([]*list.ListResult, len(cards))
	var wg sync.WaitGroup
	for i, card := range cards {
		failed := &list.ListResult{}
		results[i] = failed // it stays there if readCard panics
		wg.Go(func() {
			defer session.CatchPanic(&failed.Diagnostics)
			results[i] = l.readCard(ctx, req, card)
		})
	}
	wg.Wait()
	return results
}

// readCard returns the result for a card, or nil if a read shows that the card has been terminated in the meantime. If
// the read fails, the result has only the error.
func (l *cardListResource) readCard(ctx context.Context, req list.ListRequest, card api.CardListItem) *list.ListResult {
	result := req.NewListResult(ctx)
	result.DisplayName = fmt.Sprintf("%s (%s ending in %s)", cmp.Or(card.Label.String(), card.ID), card.Network, card.Last4)
	result.Diagnostics.Append(result.Identity.SetAttribute(ctx, path.Root("id"), card.ID)...)
	if !req.IncludeResource {
		return &result
	}
	summary, err := l.session.Client.GetCard(ctx, card.ID)
	if err != nil {
		return &list.ListResult{Diagnostics: diag.Diagnostics{session.ErrorDiagnostic("read "+nameOf(card), err)}}
	}
	if summary.Status == api.StatusTerminated {
		return nil
	}
	m := importedModel(summary, &result.Diagnostics)
	result.Diagnostics.Append(result.Resource.Set(ctx, m)...)
	return &result
}
