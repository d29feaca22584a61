// Command schemaexport prints the provider's schema in the JSON form of
// `terraform providers schema -json`, without a Terraform CLI, so that the
// generated documentation does not depend on which one is installed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/provider"
)

func main() {
	name := flag.String("name", provider.Address, "key of the provider in the output; tfplugindocs wants its short name")
	flag.Parse()
	schemas, err := export(context.Background(), providerserver.NewProtocol6(provider.New("dev")())(), *name)
	if err != nil {
		log.Fatalf("export the provider schema: %v", err)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(schemas); err != nil {
		log.Fatalf("print the provider schema: %v", err)
	}
}

// object is one of JSON. Those that are written leave out what is not set, as the CLI does.
type object = map[string]any

func written(o object) object {
	maps.DeleteFunc(o, func(_ string, value any) bool { return value == "" || value == false })
	return o
}

// export asks a provider server for everything it has.
func export(ctx context.Context, server tfprotov6.ProviderServer, name string) (object, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the provider schema: %w", err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the identity schemas: %w", err)
	}
	return object{"format_version": "1.0", "provider_schemas": object{name: object{
		"provider":                   schema(all.Provider),
		"resource_schemas":           each(all.ResourceSchemas, schema),
		"data_source_schemas":        each(all.DataSourceSchemas, schema),
		"ephemeral_resource_schemas": each(all.EphemeralResourceSchemas, schema),
		"list_resource_schemas":      each(all.ListResourceSchemas, schema),
		"action_schemas":             each(all.ActionSchemas, func(a *tfprotov6.ActionSchema) object { return object{"block": block(a.Schema.Block)} }),
		"functions":                  each(all.Functions, function),
		"resource_identity_schemas":  each(identities.IdentitySchemas, identity),
	}}}, nil
}

func each[From any](from map[string]From, convert func(From) object) object {
	to := object{}
	for name, value := range from {
		to[name] = convert(value)
	}
	return to
}

func schema(s *tfprotov6.Schema) object { return object{"version": s.Version, "block": block(s.Block)} }

// block converts one without nested blocks: the provider nests attributes.
func block(b *tfprotov6.SchemaBlock) object {
	return written(object{
		"attributes": attributes(b.Attributes), "deprecated": b.Deprecated,
		"description": b.Description, "description_kind": strings.ToLower(b.DescriptionKind.String()),
	})
}

func attributes(all []*tfprotov6.SchemaAttribute) object {
	converted := object{}
	for _, a := range all {
		attribute := written(object{
			"description": a.Description, "description_kind": strings.ToLower(a.DescriptionKind.String()), "deprecated": a.Deprecated,
			"required": a.Required, "optional": a.Optional, "computed": a.Computed, "sensitive": a.Sensitive, "write_only": a.WriteOnly,
		})
		if a.NestedType == nil {
			attribute["type"] = a.Type
		} else {
			attribute["nested_type"] = object{
				"attributes": attributes(a.NestedType.Attributes), "nesting_mode": strings.ToLower(a.NestedType.Nesting.String()),
			}
		}
		converted[a.Name] = attribute
	}
	return converted
}

func identity(s *tfprotov6.ResourceIdentitySchema) object {
	attributes := object{}
	for _, a := range s.IdentityAttributes {
		attributes[a.Name] = written(object{
			"type": a.Type, "description": a.Description, "required_for_import": a.RequiredForImport, "optional_for_import": a.OptionalForImport,
		})
	}
	return object{"version": s.Version, "attributes": attributes}
}

func function(f *tfprotov6.Function) object {
	var parameters []object
	for _, p := range f.Parameters {
		parameters = append(parameters, written(object{"name": p.Name, "description": p.Description, "is_nullable": p.AllowNullValue, "type": p.Type}))
	}
	return written(object{
		"description": f.Description, "summary": f.Summary, "deprecation_message": f.DeprecationMessage,
		"return_type": f.Return.Type, "parameters": parameters,
	})
}
