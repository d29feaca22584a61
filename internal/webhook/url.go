package webhook

import (
	"context"
	"fmt"
	"net/url"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// httpsURL wants an https address. Its errors do not repeat the address, which
// may hold a token.
type httpsURL struct{}

func (httpsURL) Description(context.Context) string { return "an address that begins with https://" }

func (v httpsURL) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v httpsURL) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	var got string
	switch u, err := url.Parse(req.ConfigValue.ValueString()); {
	case err != nil:
		got = "a text that is no address at all"
	case u.Scheme == "":
		got = "one without a scheme"
	case u.Scheme != "https":
		got = "one that begins with " + u.Scheme + ":"
	case u.Hostname() == "":
		got = "one without a host"
	default:
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Not an https address",
		fmt.Sprintf("%s must be %s, as in https://example.com/events, got %s. Events are delivered over https only.", req.Path, v.Description(ctx), got))
}
