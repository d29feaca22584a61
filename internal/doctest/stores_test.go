//go:build unix

package doctest_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	framework "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// storeSchemas are of the secret stores' resources what the guide uses. They follow the
// documents of the providers, which no test can download.
var storeSchemas = map[string]schema.Schema{
	"vault_kv_secret_v2":                   secretSchema("data_json_wo", "mount", "name"),
	"aws_secretsmanager_secret":            secretSchema("", "name"),
	"aws_secretsmanager_secret_version":    secretSchema("secret_string_wo", "secret_id"),
	"google_secret_manager_secret_version": secretSchema("secret_data_wo", "secret"),
	"google_secret_manager_secret": {
		Attributes: secretSchema("", "secret_id").Attributes,
		Blocks: map[string]schema.Block{"replication": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{
			Blocks: map[string]schema.Block{"auto": schema.ListNestedBlock{}},
		}}},
	},
}

func secretSchema(secret string, required ...string) schema.Schema {
	attributes := map[string]schema.Attribute{"id": schema.StringAttribute{Computed: true}}
	for _, name := range required {
		attributes[name] = schema.StringAttribute{Required: true}
	}
	if secret != "" {
		attributes[secret] = schema.StringAttribute{Optional: true, WriteOnly: true}
		attributes[secret+"_version"] = schema.Int64Attribute{Optional: true}
	}
	return schema.Schema{Attributes: attributes}
}

// store plays a provider of secret stores, and remembers what was written, by type.
type store struct {
	name    string
	written *sync.Map
}

func (s store) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (s store) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}
func (s store) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (s store) Metadata(_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse) {
	response.TypeName = s.name
}

func (s store) Resources(context.Context) []func() framework.Resource {
	var all []func() framework.Resource
	for name := range maps.Keys(storeSchemas) {
		if strings.HasPrefix(name, s.name+"_") {
			all = append(all, func() framework.Resource { return secret{s, name} })
		}
	}
	return all
}

type secret struct {
	store
	name string
}

func (s secret) Metadata(_ context.Context, _ framework.MetadataRequest, response *framework.MetadataResponse) {
	response.TypeName = s.name
}

func (s secret) Schema(_ context.Context, _ framework.SchemaRequest, response *framework.SchemaResponse) {
	response.Schema = storeSchemas[s.name]
}

func (s secret) Create(ctx context.Context, request framework.CreateRequest, response *framework.CreateResponse) {
	response.Diagnostics = s.write(ctx, request.Config, request.Plan, &response.State)
}

func (s secret) Update(ctx context.Context, request framework.UpdateRequest, response *framework.UpdateResponse) {
	response.Diagnostics = s.write(ctx, request.Config, request.Plan, &response.State)
}

func (s secret) write(ctx context.Context, config tfsdk.Config, plan tfsdk.Plan, state *tfsdk.State) diag.Diagnostics {
	state.Raw = plan.Raw
	diags := state.SetAttribute(ctx, path.Root("id"), s.name)
	for name := range storeSchemas[s.name].Attributes {
		if strings.HasSuffix(name, "_wo") {
			var value string
			diags.Append(config.GetAttribute(ctx, path.Root(name), &value)...)
			s.written.Store(s.name, value)
		}
	}
	return diags
}

func (s secret) Read(context.Context, framework.ReadRequest, *framework.ReadResponse)       {}
func (s secret) Delete(context.Context, framework.DeleteRequest, *framework.DeleteResponse) {}

// The guide's recipes bring a card's number into each secret store, that of a replaced card
// too, and into no state.
func TestSecretStores(t *testing.T) {
	t.Parallel()
	acctest.Needs(t, "1.11.0", "1.11.0")
	config := ""
	for _, block := range site(t).Pages["docs/guides/secrets.md"].Blocks {
		if strings.Contains(block.Text, "vcard_card_details") || strings.Contains(block.Text, "local.search_number") {
			config += block.Text
		}
	}
	s := acctest.Start(t)
	written := new(sync.Map)
	step := func(label string) resource.TestStep {
		return resource.TestStep{
			Config: s.ProviderConfig() + fmt.Sprintf(`
				resource "vcard_card" "search" {
					bin_id = "bin_ads_visa_us"
					amount = 50
					label  = %q
				}
				`, label) + config,
			Check: func(state *terraform.State) error {
				number := s.Get("/cards/" + state.RootModule().Resources["vcard_card.search"].Primary.ID + "/details").Must().Text("pan")
				for _, name := range []string{"vault_kv_secret_v2", "aws_secretsmanager_secret_version", "google_secret_manager_secret_version"} {
					if value, _ := written.Load(name); !strings.Contains(fmt.Sprint(value), `"number":"`+number+`"`) {
						return fmt.Errorf("%s of %s lacks the number", name, label)
					}
				}
				if strings.Contains(state.String(), number) {
					return fmt.Errorf("the state has the number of %s", label)
				}
				return nil
			},
		}
	}
	factories := acctest.Factories(t)
	for _, name := range []string{"vault", "aws", "google"} {
		factories[name] = providerserver.NewProtocol6WithError(store{name, written})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories,
		Steps:                    []resource.TestStep{step("search"), step("replaced")},
	})
}
