package webhook

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// importedKey marks, in Terraform's private state, an endpoint that was
// imported and whose configuration has not been taken over yet.
const importedKey = "imported"

type keySetter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

func markImported(ctx context.Context, private keySetter, imported bool) diag.Diagnostics {
	value := []byte("false")
	if imported {
		value = []byte("true")
	}
	return private.SetKey(ctx, importedKey, value)
}
