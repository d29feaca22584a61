// Command schemaexport prints the provider's schema in the JSON form of
// `terraform providers schema -json`, without a Terraform CLI, so that the
// generated documentation does not depend on which one is installed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

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
