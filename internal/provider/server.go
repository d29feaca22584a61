package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vcard/terraform-provider-vcard/internal/transaction"
)

// NewServer returns what makes a protocol server of this version ("dev" outside releases).
func NewServer(version string, options ...Option) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		return transaction.Lean(providerserver.NewProtocol6(New(version, options...)())())
	}
}
