// Command schemaexport prints the provider's schema as `terraform providers schema -json` does. It needs no CLI, so that
// the generated documentation does not depend on the installed one.
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
	name := flag.String("name", provider.Address, "key of the provider in the output; tfplugindocs needs the short name")
	flag.Parse()
	newProvider := provider.New("dev")
	newServer := providerserver.NewProtocol6(newProvider())
	schemas, err := export(context.Background(), newServer(), *name)
	if err != nil {
		log.Fatalf("export the provider schema: %v", err)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(schemas)
	if err != nil {
		log.Fatalf("print the provider schema: %v", err)
	}
}

// object is a JSON object.
type object = map[string]any

// removeUnset removes empty strings and false from an object, as the CLI does, and returns the same object.
func removeUnset(o object) object {
	maps.DeleteFunc(o, func(_ string, value any) bool { return value == "" || value == false })
	return o
}

// export returns the schemas of a provider server in the form of the CLI. The name is the key of the provider.
func export(ctx context.Context, server tfprotov6.ProviderServer, name string) (object, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the provider schema: %w", err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the identity schemas: %w", err)
	}
	schemas := object{
		"provider":                   convertSchema(all.Provider),
		"resource_schemas":           convertAll(all.ResourceSchemas, convertSchema),
		"data_source_schemas":        convertAll(all.DataSourceSchemas, convertSchema),
		"ephemeral_resource_schemas": convertAll(all.EphemeralResourceSchemas, convertSchema),
		"list_resource_schemas":      convertAll(all.ListResourceSchemas, convertSchema),
		"action_schemas":             convertAll(all.ActionSchemas, convertActionSchema),
		"functions":                  convertAll(all.Functions, convertFunction),
		"resource_identity_schemas":  convertAll(identities.IdentitySchemas, convertIdentity),
	}
	return object{"format_version": "1.0", "provider_schemas": object{name: schemas}}, nil
}

// convertAll converts each value of a map.
func convertAll[From any](from map[string]From, convert func(From) object) object {
	to := object{}
	for name, value := range from {
		to[name] = convert(value)
	}
	return to
}

func convertSchema(s *tfprotov6.Schema) object {
	return object{"version": s.Version, "block": convertBlock(s.Block)}
}

func convertActionSchema(a *tfprotov6.ActionSchema) object {
	return object{"block": convertBlock(a.Schema.Block)}
}

// convertBlock converts a block without nested blocks. The provider has none, because it uses nested attributes.
func convertBlock(b *tfprotov6.SchemaBlock) object {
	return removeUnset(object{
		"attributes":       convertAttributes(b.Attributes),
		"deprecated":       b.Deprecated,
		"description":      b.Description,
		"description_kind": strings.ToLower(b.DescriptionKind.String()),
	})
}

func convertAttributes(attributes []*tfprotov6.SchemaAttribute) object {
	converted := object{}
	for _, a := range attributes {
		attribute := removeUnset(object{
			"description":      a.Description,
			"description_kind": strings.ToLower(a.DescriptionKind.String()),
			"deprecated":       a.Deprecated,
			"required":         a.Required,
			"optional":         a.Optional,
			"computed":         a.Computed,
			"sensitive":        a.Sensitive,
			"write_only":       a.WriteOnly,
		})
		if a.NestedType == nil {
			attribute["type"] = a.Type
		} else {
			attribute["nested_type"] = object{
				"attributes":   convertAttributes(a.NestedType.Attributes),
				"nesting_mode": strings.ToLower(a.NestedType.Nesting.String()),
			}
		}
		converted[a.Name] = attribute
	}
	return converted
}

func convertIdentity(s *tfprotov6.ResourceIdentitySchema) object {
	attributes := object{}
	for _, a := range s.IdentityAttributes {
		attributes[a.Name] = removeUnset(object{
			"type":                a.Type,
			"description":         a.Description,
			"required_for_import": a.RequiredForImport,
			"optional_for_import": a.OptionalForImport,
		})
	}
	return object{"version": s.Version, "attributes": attributes}
}

func convertFunction(f *tfprotov6.Function) object {
	var parameters []object
	for _, p := range f.Parameters {
		parameters = append(parameters, removeUnset(object{
			"name":        p.Name,
			"description": p.Description,
			"is_nullable": p.AllowNullValue,
			"type":        p.Type,
		}))
	}
	return removeUnset(object{
		"description":         f.Description,
		"summary":             f.Summary,
		"deprecation_message": f.DeprecationMessage,
		"return_type":         f.Return.Type,
		"parameters":          parameters,
	})
}
