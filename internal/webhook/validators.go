package webhook

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

const allEvents = "*"

// events are the names of API §6.
func events() []string {
	return []string{
		"card.created", "card.frozen", "card.unfrozen", "card.terminated", "card.funded",
		"transaction.authorized", "transaction.settled", "transaction.declined", "transaction.refunded",
		"3ds.challenge", "deposit.pending", "deposit.confirmed",
	}
}

type eventNames struct{}

func (eventNames) Description(context.Context) string {
	return `one or more event names, or "*" alone`
}

func (v eventNames) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v eventNames) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	refuse := func(summary, detail string) { resp.Diagnostics.AddAttributeError(req.Path, summary, detail) }
	var names, wrong []string
	for _, element := range req.ConfigValue.Elements() {
		name, ok := element.(types.String)
		switch {
		case !ok || name.IsUnknown():
			continue
		case name.IsNull():
			refuse("Null event", fmt.Sprintf("%s must not contain null.", req.Path))
			return
		}
		names = append(names, name.ValueString())
		if name.ValueString() != allEvents && !slices.Contains(events(), name.ValueString()) {
			wrong = append(wrong, fmt.Sprintf("%q", name.ValueString()))
		}
	}
	switch {
	case len(req.ConfigValue.Elements()) == 0:
		refuse("No events", fmt.Sprintf(`%s must name at least one event, or be ["*"] for all of them.`, req.Path))
	case len(wrong) > 0:
		refuse("Unknown event", fmt.Sprintf(`%s: there is no event %s. There are %s; or ["*"], alone, for all of them.`,
			req.Path, strings.Join(wrong, " and no "), strings.Join(events(), ", ")))
	case len(names) > 1 && slices.Contains(names, allEvents):
		refuse("All events and single ones", fmt.Sprintf(`%s: "*" subscribes to all events and stands alone. Write ["*"], or the events by name.`, req.Path))
	}
}

// httpsURL wants an https address. What it says does not repeat the address, which
// may hold a token.
func httpsURL(text string) string {
	var got string
	switch u, err := url.Parse(text); {
	case strings.TrimSpace(text) != text:
		got = "one with spaces or line breaks around it"
	case err != nil:
		got = "a text that is no address at all"
	case u.Scheme == "":
		got = "one without a scheme"
	case u.Scheme != "https":
		got = "one that begins with " + u.Scheme + ":"
	case u.Hostname() == "":
		got = "one without a host"
	case u.User != nil:
		got = "one with a user name or a password"
	case strings.Contains(text, "#"):
		got = "one with a fragment (#)"
	case !isPort(u.Port()):
		got = "one with a port over 65535"
	default:
		return ""
	}
	return "must be an address that begins with https://, as in https://example.com/events, got " + got + ". Events are delivered over https only."
}

// oneLine does not repeat the text, which is a secret.
func oneLine(text string) string {
	if tfkit.IsOneLine(text) {
		return ""
	}
	return "must be one line, without control characters. Text that was read from a file ends in a line break: trimspace() takes it off."
}

// isPort takes a port of digits, as url.Parse leaves it, or none.
func isPort(digits string) bool {
	_, err := strconv.ParseUint(digits, 10, 16)
	return digits == "" || err == nil
}
