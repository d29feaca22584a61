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
	"os"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"

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

// export asks a provider server for everything it has.
func export(ctx context.Context, server tfprotov6.ProviderServer, name string) (*tfjson.ProviderSchemas, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the provider schema: %w", err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the identity schemas: %w", err)
	}
	var c converter
	schemas := &tfjson.ProviderSchemas{
		FormatVersion: "1.0",
		Schemas: map[string]*tfjson.ProviderSchema{name: {
			ConfigSchema:             c.schema(all.Provider),
			ResourceSchemas:          each(all.ResourceSchemas, c.schema),
			DataSourceSchemas:        each(all.DataSourceSchemas, c.schema),
			EphemeralResourceSchemas: each(all.EphemeralResourceSchemas, c.schema),
			ListResourceSchemas:      each(all.ListResourceSchemas, c.schema),
			ActionSchemas:            each(all.ActionSchemas, c.action),
			Functions:                each(all.Functions, c.function),
			ResourceIdentitySchemas:  each(identities.IdentitySchemas, c.identity),
		}},
	}
	return schemas, c.err
}

func each[From, To any](from map[string]From, convert func(From) To) map[string]To {
	to := make(map[string]To, len(from))
	for name, value := range from {
		to[name] = convert(value)
	}
	return to
}

// converter turns protocol schemas into Terraform's JSON form. It keeps the
// first error.
type converter struct{ err error }

func (c *converter) schema(s *tfprotov6.Schema) *tfjson.Schema {
	return &tfjson.Schema{Version: uint64(s.Version), Block: c.block(s.Block)} //nolint:gosec // versions are never negative
}

func (c *converter) action(s *tfprotov6.ActionSchema) *tfjson.ActionSchema {
	return &tfjson.ActionSchema{Block: c.block(s.Schema.Block)}
}

// block converts one without nested blocks: the provider nests attributes.
func (c *converter) block(b *tfprotov6.SchemaBlock) *tfjson.SchemaBlock {
	return &tfjson.SchemaBlock{
		Attributes:      c.attributes(b.Attributes),
		Description:     b.Description,
		DescriptionKind: descriptionKind(b.DescriptionKind),
		Deprecated:      b.Deprecated,
	}
}

func (c *converter) attributes(attributes []*tfprotov6.SchemaAttribute) map[string]*tfjson.SchemaAttribute {
	converted := make(map[string]*tfjson.SchemaAttribute, len(attributes))
	for _, a := range attributes {
		attribute := &tfjson.SchemaAttribute{
			Description:     a.Description,
			DescriptionKind: descriptionKind(a.DescriptionKind),
			Deprecated:      a.Deprecated,
			Required:        a.Required,
			Optional:        a.Optional,
			Computed:        a.Computed,
			Sensitive:       a.Sensitive,
			WriteOnly:       a.WriteOnly,
		}
		if a.NestedType == nil {
			attribute.AttributeType = c.valueType(a.Name, a.Type)
		} else {
			attribute.AttributeNestedType = &tfjson.SchemaNestedAttributeType{
				Attributes:  c.attributes(a.NestedType.Attributes),
				NestingMode: tfjson.SchemaNestingMode(strings.ToLower(a.NestedType.Nesting.String())),
			}
		}
		converted[a.Name] = attribute
	}
	return converted
}

func (c *converter) identity(s *tfprotov6.ResourceIdentitySchema) *tfjson.IdentitySchema {
	identity := &tfjson.IdentitySchema{
		Version:    uint64(s.Version), //nolint:gosec // versions are never negative
		Attributes: make(map[string]*tfjson.IdentityAttribute, len(s.IdentityAttributes)),
	}
	for _, a := range s.IdentityAttributes {
		identity.Attributes[a.Name] = &tfjson.IdentityAttribute{
			IdentityType:      c.valueType(a.Name, a.Type),
			Description:       a.Description,
			RequiredForImport: a.RequiredForImport,
			OptionalForImport: a.OptionalForImport,
		}
	}
	return identity
}

func (c *converter) function(f *tfprotov6.Function) *tfjson.FunctionSignature {
	signature := &tfjson.FunctionSignature{
		Description:        f.Description,
		Summary:            f.Summary,
		DeprecationMessage: f.DeprecationMessage,
		ReturnType:         c.valueType("result", f.Return.Type),
	}
	for _, p := range f.Parameters {
		signature.Parameters = append(signature.Parameters, &tfjson.FunctionParameter{
			Name:        p.Name,
			Description: p.Description,
			IsNullable:  p.AllowNullValue,
			Type:        c.valueType(p.Name, p.Type),
		})
	}
	return signature
}

// valueType goes through JSON, the one form that both type systems share.
func (c *converter) valueType(name string, from tftypes.Type) cty.Type {
	var to cty.Type
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, &to)
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("type of %s: %w", name, err)
	}
	return to
}

func descriptionKind(kind tfprotov6.StringKind) tfjson.SchemaDescriptionKind {
	return tfjson.SchemaDescriptionKind(strings.ToLower(kind.String()))
}
