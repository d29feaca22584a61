package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// logExchange is the one place where calls are logged: what was asked and how
// it went, never a body, a query or a header.
func logExchange(ctx context.Context, x api.Exchange) {
	tflog.Debug(ctx, "service call", map[string]any{
		"method":  x.Method,
		"path":    x.Path,
		"status":  x.Status,
		"attempt": x.Attempt,
		"waited":  x.Waited.String(),
		"took":    x.Took.String(),
	})
}
