// Package tfkit contains helpers for resources and data sources on top of the plugin framework.
package tfkit

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
)

// DataSource is a data source whose configuration and state have the shape M.
type DataSource[M any] struct {
	// Name is the name of the type without the provider's prefix, as in "bins".
	Name string
	// Operation completes "cannot …" and "Could not …", as in "read the BIN catalogue".
	Operation string
	// NewSchema returns the schema.
	NewSchema func() schema.Schema
	// Check adds errors about combinations of attributes. It may be nil.
	Check func(M, *diag.Diagnostics)
	// Fill turns a configuration into a state by adding the service's values. The state is saved if Fill returns nil
	// and adds no error to the diagnostics.
	Fill func(context.Context, *session.Session, *M, *diag.Diagnostics) error

	session *session.Session
}

var (
	_ datasource.DataSourceWithConfigure      = (*DataSource[any])(nil)
	_ datasource.DataSourceWithValidateConfig = (*DataSource[any])(nil)
)

// Metadata names the type.
func (d *DataSource[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + d.Name
}

// Configure takes the session of the configured provider.
func (d *DataSource[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.session = session.From(req.ProviderData, &resp.Diagnostics)
}

// Schema returns the schema of NewSchema.
func (d *DataSource[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = d.NewSchema()
}

// ValidateConfig runs the check, if there is one.
func (d *DataSource[M]) ValidateConfig(ctx context.Context, req datasource.ValidateConfigRequest, resp *datasource.ValidateConfigResponse) {
	if d.Check == nil {
		return
	}
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if !resp.Diagnostics.HasError() {
		d.Check(m, &resp.Diagnostics)
	}
}

// Read fills the state.
func (d *DataSource[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !d.session.Require(&resp.Diagnostics, d.Operation) {
		return
	}
	err := d.Fill(ctx, d.session, &m, &resp.Diagnostics)
	if err != nil {
		resp.Diagnostics.Append(session.ErrorDiagnostic(d.Operation, err))
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
	}
}

// StringOrNull returns a text as a value, or null for "".
func StringOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// Filter returns the attribute for an optional text that a data source filters by.
func Filter(description string, checks ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Validators: checks, MarkdownDescription: description}
}

// Computed returns the attribute for a text from the service.
func Computed(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedNumber returns the attribute for a number from the service.
func ComputedNumber(description string) schema.NumberAttribute {
	return schema.NumberAttribute{Computed: true, MarkdownDescription: description}
}
