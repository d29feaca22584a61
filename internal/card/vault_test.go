package card_test

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// vaultProvider is another provider, which has a write-only attribute.
type vaultProvider struct {
	mu     sync.Mutex
	secret string
}

func (v *vaultProvider) stored() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.secret
}

func (v *vaultProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "vault"
}

func (v *vaultProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (v *vaultProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (v *vaultProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (v *vaultProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &vaultSecret{vault: v} }}
}

type vaultSecret struct{ vault *vaultProvider }

func (s *vaultSecret) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "vault_kv_secret_v2"
}

func (s *vaultSecret) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"mount":                schema.StringAttribute{Required: true},
		"name":                 schema.StringAttribute{Required: true},
		"data_json_wo":         schema.StringAttribute{Optional: true, WriteOnly: true},
		"data_json_wo_version": schema.Int64Attribute{Optional: true},
	}}
}

func (s *vaultSecret) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var secret types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("data_json_wo"), &secret)...)
	s.vault.mu.Lock()
	s.vault.secret = secret.ValueString()
	s.vault.mu.Unlock()
	resp.State.Raw = req.Plan.Raw
}

func (s *vaultSecret) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (s *vaultSecret) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (s *vaultSecret) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
