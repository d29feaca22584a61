package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// fakeServer answers with prepared schemas.
type fakeServer struct {
	tfprotov6.ProviderServer

	schemas    tfprotov6.GetProviderSchemaResponse
	identities tfprotov6.GetResourceIdentitySchemasResponse
	err        error
}

func (s *fakeServer) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &s.schemas, s.err
}

func (s *fakeServer) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &s.identities, nil
}

func schemaOf(attributes ...*tfprotov6.SchemaAttribute) *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: attributes}}
}

func TestExport(t *testing.T) {
	t.Parallel()
	id := &tfprotov6.SchemaAttribute{Name: "id", Type: tftypes.String, Computed: true}
	server := &fakeServer{
		schemas: tfprotov6.GetProviderSchemaResponse{
			Provider: schemaOf(&tfprotov6.SchemaAttribute{
				Name: "key", Type: tftypes.String, Optional: true, Sensitive: true,
				Description: "The `key`.", DescriptionKind: tfprotov6.StringKindMarkdown,
			}),
			ResourceSchemas: map[string]*tfprotov6.Schema{"t_thing": {Version: 3, Block: &tfprotov6.SchemaBlock{
				Description: "A thing.", Deprecated: true,
				Attributes: []*tfprotov6.SchemaAttribute{
					{Name: "secret", Type: tftypes.String, Required: true, WriteOnly: true, Deprecated: true},
					{Name: "tags", Type: tftypes.Map{ElementType: tftypes.Number}, Optional: true, Computed: true},
					{Name: "rules", Optional: true, NestedType: &tfprotov6.SchemaObject{
						Nesting:    tfprotov6.SchemaObjectNestingModeList,
						Attributes: []*tfprotov6.SchemaAttribute{id},
					}},
				},
				BlockTypes: []*tfprotov6.SchemaNestedBlock{{
					TypeName: "timeouts", Nesting: tfprotov6.SchemaNestedBlockNestingModeSingle, MinItems: 1, MaxItems: 2,
					Block: &tfprotov6.SchemaBlock{Attributes: []*tfprotov6.SchemaAttribute{id}},
				}},
			}}},
			DataSourceSchemas:        map[string]*tfprotov6.Schema{"t_data": schemaOf(id)},
			EphemeralResourceSchemas: map[string]*tfprotov6.Schema{"t_ephemeral": schemaOf(id)},
			ListResourceSchemas:      map[string]*tfprotov6.Schema{"t_thing": schemaOf()},
			ActionSchemas:            map[string]*tfprotov6.ActionSchema{"t_act": {Schema: schemaOf(id)}},
			Functions: map[string]*tfprotov6.Function{"sum": {
				Summary: "Adds.", Description: "Adds up.", DeprecationMessage: "Use +.",
				Parameters:        []*tfprotov6.FunctionParameter{{Name: "all", Type: tftypes.List{ElementType: tftypes.Number}, Description: "What to add."}},
				VariadicParameter: &tfprotov6.FunctionParameter{Name: "more", Type: tftypes.Number, AllowNullValue: true},
				Return:            &tfprotov6.FunctionReturn{Type: tftypes.Number},
			}},
		},
		identities: tfprotov6.GetResourceIdentitySchemasResponse{
			IdentitySchemas: map[string]*tfprotov6.ResourceIdentitySchema{"t_thing": {
				Version: 1,
				IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
					{Name: "id", Type: tftypes.String, RequiredForImport: true, Description: "The id."},
					{Name: "account", Type: tftypes.String, OptionalForImport: true},
				},
			}},
		},
	}
	const block = `{"attributes": {"id": {"type": "string", "description_kind": "plain", "computed": true}}, "description_kind": "plain"}`
	want := `{
		"format_version": "1.0",
		"provider_schemas": {"example.com/t/t": {
			"provider": {"version": 0, "block": {"description_kind": "plain", "attributes": {
				"key": {"type": "string", "optional": true, "sensitive": true, "description": "The ` + "`key`" + `.", "description_kind": "markdown"}
			}}},
			"resource_schemas": {"t_thing": {"version": 3, "block": {
				"description": "A thing.", "description_kind": "plain", "deprecated": true,
				"attributes": {
					"secret": {"type": "string", "description_kind": "plain", "required": true, "write_only": true, "deprecated": true},
					"tags": {"type": ["map", "number"], "description_kind": "plain", "optional": true, "computed": true},
					"rules": {"description_kind": "plain", "optional": true, "nested_type": {"nesting_mode": "list", "attributes": {
						"id": {"type": "string", "description_kind": "plain", "computed": true}
					}}}
				},
				"block_types": {"timeouts": {"nesting_mode": "single", "min_items": 1, "max_items": 2, "block": ` + block + `}}
			}}},
			"data_source_schemas": {"t_data": {"version": 0, "block": ` + block + `}},
			"ephemeral_resource_schemas": {"t_ephemeral": {"version": 0, "block": ` + block + `}},
			"list_resource_schemas": {"t_thing": {"version": 0, "block": {"description_kind": "plain"}}},
			"action_schemas": {"t_act": {"block": ` + block + `}},
			"functions": {"sum": {
				"summary": "Adds.", "description": "Adds up.", "deprecation_message": "Use +.", "return_type": "number",
				"parameters": [{"name": "all", "description": "What to add.", "type": ["list", "number"]}],
				"variadic_parameter": {"name": "more", "is_nullable": true, "type": "number"}
			}},
			"resource_identity_schemas": {"t_thing": {"version": 1, "attributes": {
				"id": {"type": "string", "description": "The id.", "required_for_import": true},
				"account": {"type": "string", "optional_for_import": true}
			}}}
		}}
	}`
	schemas, err := export(t.Context(), server, "example.com/t/t")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed(t, []byte(want)), parsed(t, data)); diff != "" {
		t.Errorf("exported schema (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal(data, new(tfjson.ProviderSchemas)); err != nil {
		t.Errorf("the export cannot be read back: %v", err)
	}
}

func TestExportFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		server *fakeServer
		want   string
	}{
		"call": {&fakeServer{err: errors.New("gone")}, "get the provider schema: gone"},
		"diagnostic": {&fakeServer{schemas: tfprotov6.GetProviderSchemaResponse{Diagnostics: []*tfprotov6.Diagnostic{
			{Severity: tfprotov6.DiagnosticSeverityWarning, Summary: "Hm"},
			{Severity: tfprotov6.DiagnosticSeverityError, Summary: "Bad schema", Detail: "Twice."},
		}}}, "Bad schema: Twice."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := export(t.Context(), test.server, "t")
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "Hm") {
				t.Errorf("error %v, want only %q", err, test.want)
			}
		})
	}
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return value
}
