// Package bins has the Terraform types for the BIN catalogue.
package bins

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

// NewDataSource makes the data source vcard_bins.
func NewDataSource() datasource.DataSource {
	return &tfkit.DataSource[model]{
		Name: "bins", Operation: "read the BIN catalogue",
		NewSchema: catalogueSchema, Fill: fill,
	}
}

func catalogueSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Lists the BINs that cards can be issued on, in the order of the service's catalogue. " +
			"If no BIN matches all filters, the lists are empty, and a warning says what the catalogue contains.",
		Attributes: map[string]schema.Attribute{
			"network": tfkit.Filter("Only BINs of this card network, such as `visa`; case does not matter. Default: "+
				"all networks.", tfkit.NotEmpty()),
			"category": tfkit.Filter("Only BINs of this category, such as `ads`; case does not matter. Default: "+
				"all categories.", tfkit.NotEmpty()),
			"three_ds": schema.BoolAttribute{Optional: true, MarkdownDescription: "Only BINs with (`true`) or without " +
				"(`false`) 3D Secure. Default: both."},
			"ids": schema.ListAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Ids of the BINs in `bins`, in the same order. The service may change the order: " +
					"write the id itself into a card's configuration.",
			},
			"bins": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "The BINs that match the filters.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"id":       tfkit.Computed("BIN id, for `bin_id` of `vcard_card`."),
					"network":  tfkit.Computed("Card network, such as `visa`."),
					"category": tfkit.Computed("Category, such as `ads`."),
					"three_ds": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether cards of this BIN take part in 3D Secure."},
					"wallets": schema.MapAttribute{
						Computed: true, ElementType: types.BoolType,
						MarkdownDescription: "Whether each mobile wallet accepts cards of this BIN, keyed by the service's name for the wallet.",
					},
				}},
			},
		},
	}
}

type model struct {
	Network  types.String `tfsdk:"network"`
	Category types.String `tfsdk:"category"`
	ThreeDS  types.Bool   `tfsdk:"three_ds"`
	IDs      []string     `tfsdk:"ids"`
	Bins     []bin        `tfsdk:"bins"`
}

type bin struct {
	ID       string          `tfsdk:"id"`
	Network  string          `tfsdk:"network"`
	Category string          `tfsdk:"category"`
	ThreeDS  bool            `tfsdk:"three_ds"`
	Wallets  map[string]bool `tfsdk:"wallets"`
}

func fill(ctx context.Context, s *session.Session, m *model, diags *diag.Diagnostics) error {
	catalogue, err := s.Bins(ctx)
	if err != nil {
		return err
	}
	m.IDs = []string{}
	m.Bins = []bin{}
	var invalid tfkit.InvalidIDs
	const noOwner = ""
	found := false
	for _, b := range catalogue {
		if !m.matches(b) {
			continue
		}
		found = true
		if invalid.AddIfMalformed(b.ID, noOwner) {
			continue
		}
		m.IDs = append(m.IDs, b.ID)
		m.Bins = append(m.Bins, bin{
			ID:       b.ID,
			Network:  b.Network.String(),
			Category: b.Category.String(),
			ThreeDS:  b.ThreeDS,
			Wallets:  b.Wallets,
		})
	}
	diags.Append(invalid.Warning("BINs")...)
	if !found {
		diags.AddWarning("No BINs found", "ids and bins are empty. "+describeCatalogue(catalogue))
	}
	return nil
}

// describeCatalogue returns the end of the warning that no BIN was found: what the catalogue contains, and what to do.
func describeCatalogue(catalogue []api.Bin) string {
	if len(catalogue) == 0 {
		return "The service's catalogue is empty. Ask the service's support which BINs the account can use."
	}
	networks := map[string]bool{}
	categories := map[string]bool{}
	for _, b := range catalogue {
		networks[b.Network.String()] = true
		categories[b.Category.String()] = true
	}
	count := fmt.Sprintf("%d BINs", len(catalogue))
	if len(catalogue) == 1 {
		count = "1 BIN"
	}
	return fmt.Sprintf("The catalogue has %s. Networks: %s. Categories: %s. Change the filters.",
		count, sortedNames(networks), sortedNames(categories))
}

// sortedNames returns the keys in order, separated by commas.
func sortedNames(names map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// matches reports whether a BIN passes the configured filters. A filter that is null accepts every BIN.
func (m *model) matches(b api.Bin) bool {
	if !m.Network.IsNull() && !strings.EqualFold(m.Network.ValueString(), b.Network.String()) {
		return false
	}
	if !m.Category.IsNull() && !strings.EqualFold(m.Category.ValueString(), b.Category.String()) {
		return false
	}
	return m.ThreeDS.IsNull() || m.ThreeDS.ValueBool() == b.ThreeDS
}
