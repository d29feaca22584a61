package webhook

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
)

const replaces = " Changing it registers a new endpoint; the old one stays until you remove it in the dashboard."

func (r *webhookResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	secret := []validator.String{tfkit.NotEmpty(), tfkit.Rule("More than a line", oneLine)}
	resp.Schema = schema.Schema{
		MarkdownDescription: "An HTTPS endpoint that the service sends signed events to. " +
			"The service can only register endpoints: it cannot show, change or remove one.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, MarkdownDescription: "Endpoint id, of the form `wh_…`."},
			"url": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.Rule("Not an https address", httpsURL)},
				MarkdownDescription: "Address that receives the events; must start with `https://`." + replaces,
			},
			"events": schema.SetAttribute{
				Required: true, ElementType: types.StringType,
				MarkdownDescription: "Events to receive: any of `" + strings.Join(events(), "`, `") + "`; or `[\"*\"]` for all." + replaces,
			},
			"secret": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, Validators: secret,
				MarkdownDescription: "Secret that the service signs with. It is stored in the state; `secret_wo` is not. Default: the service generates one. " +
					"If you remove it, the endpoint keeps its secret. Null with `secret_wo`, and on an imported endpoint." + replaces,
			},
			"secret_wo": schema.StringAttribute{
				Optional: true, WriteOnly: true, Sensitive: true, Validators: secret,
				MarkdownDescription: "Secret that the service signs with, in no plan and no state; it may be an ephemeral value. " +
					"Requires `secret_wo_version`, and Terraform or OpenTofu 1.11; conflicts with `secret`.",
			},
			"secret_wo_version": schema.NumberAttribute{
				Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(math.MinInt64, math.MaxInt64)},
				MarkdownDescription: "Version of `secret_wo`, any whole number. Change it whenever you change `secret_wo`, because Terraform cannot see that." + replaces,
			},
			"created_at": schema.StringAttribute{
				Computed: true, CustomType: timetypes.RFC3339Type{},
				MarkdownDescription: "When the endpoint was registered, RFC 3339. Null on an imported endpoint.",
			},
		},
	}
}

func (r *webhookResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = tfkit.IdentityByID("Webhook endpoint id, of the form wh_….")
}

// ValidateConfig checks the events, and which ways to give a secret go together.
func (r *webhookResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkEvents(config.Events, &resp.Diagnostics)
	switch {
	case isSet(config.Secret) && isSet(config.SecretWO):
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "Two secrets",
			"secret and secret_wo exclude each other: an endpoint signs with one secret. Keep secret_wo to keep it out of the state, or secret to have it there.")
	case isSet(config.SecretWO) && config.SecretWOVersion.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo_version"), "A write-only secret without its version",
			"secret_wo needs secret_wo_version, for example 1: Terraform keeps no write-only value, so a change of the secret shows only in its version.")
	case isSet(config.SecretWOVersion) && config.SecretWO.IsNull():
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "A version without its write-only secret",
			"secret_wo_version needs secret_wo, the secret whose version it is. Set secret_wo, or remove secret_wo_version.")
	}
}

// isSet reports whether v is set for certain: what is unknown may turn out null.
func isSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

const allEvents = "*"

// events are the names of API §6.
func events() []string {
	return []string{
		"card.created", "card.frozen", "card.unfrozen", "card.terminated", "card.funded",
		"transaction.authorized", "transaction.settled", "transaction.declined", "transaction.refunded",
		"3ds.challenge", "deposit.pending", "deposit.confirmed",
	}
}

// checkEvents refuses what the service has no event for. What is not known yet is no mistake.
func checkEvents(set types.Set, diags *diag.Diagnostics) {
	if !isSet(set) {
		return
	}
	refuse := func(title, text string) { diags.AddAttributeError(path.Root("events"), title, text) }
	var names, wrong []string
	for _, element := range set.Elements() {
		name, _ := element.(types.String)
		switch {
		case name.IsUnknown():
			continue
		case name.IsNull():
			refuse("Null event", "events must not contain null.")
			return
		case name.ValueString() != allEvents && !slices.Contains(events(), name.ValueString()):
			wrong = append(wrong, fmt.Sprintf("%q", name.ValueString()))
		}
		names = append(names, name.ValueString())
	}
	switch {
	case len(set.Elements()) == 0:
		refuse("No events", `events must name at least one event, or be ["*"] for all of them.`)
	case len(wrong) > 0:
		refuse("Unknown event", fmt.Sprintf(`events: there is no event %s. There are %s; or ["*"], alone, for all of them.`,
			strings.Join(wrong, " and no "), strings.Join(events(), ", ")))
	case len(names) > 1 && slices.Contains(names, allEvents):
		refuse("All events and single ones", `events: "*" subscribes to all events and stands alone. Write ["*"], or the events by name.`)
	}
}

// httpsURL wants an https address. What it says does not repeat the address, which
// may hold a token.
func httpsURL(text string) string {
	var got string
	address, _, _ := strings.Cut(text, "?") // the query may hold an address of its own
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
	case strings.Contains(text, " "):
		got = "one with a space"
	case strings.Contains(text, "$"):
		got = "one with a $, as of a variable that was not filled in"
	case strings.Contains(strings.TrimPrefix(address, "https://"), "://"):
		got = "one with a second scheme"
	case u.User != nil:
		got = "one with a user name or a password"
	case strings.Contains(text, "#"):
		got = "one with a fragment (#)"
	case !isPort(u.Port()):
		got = "one with a port that is not between 1 and 65535"
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
	port, err := strconv.ParseUint(digits, 10, 16)
	return digits == "" || err == nil && port > 0
}
