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

// replacesNote completes the description of an attribute whose change replaces the endpoint.
const replacesNote = " Changing it registers a new endpoint; the old one stays until you remove it in the dashboard."

func (r *webhookResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	secretRules := []validator.String{tfkit.NotEmpty(), tfkit.OneLine()}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Registers an HTTPS endpoint to which the service sends signed events. " +
			"The service can only register endpoints. It cannot list, change or remove them.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, MarkdownDescription: "Endpoint id, of the form `wh_…`."},
			"url": schema.StringAttribute{
				Required: true, Validators: []validator.String{tfkit.Rule("Invalid https address", checkHTTPSURL)},
				MarkdownDescription: "Address that receives the events; must start with `https://`." + replacesNote,
			},
			"events": schema.SetAttribute{
				Required: true, ElementType: types.StringType,
				MarkdownDescription: "Events to receive: any of `" + strings.Join(events(), "`, `") + "`; " +
					"or `[\"*\"]` for all." + replacesNote,
			},
			"secret": schema.StringAttribute{
				Optional: true, Computed: true, Sensitive: true, Validators: secretRules,
				MarkdownDescription: "Secret that the service signs with. It is stored in the state; `secret_wo` is not. " +
					"Default: the service generates one. " +
					"If you remove it, the endpoint keeps its secret. " +
					"Null with `secret_wo`, and on an imported endpoint whose configuration sets no secret." + replacesNote,
			},
			"secret_wo": schema.StringAttribute{
				Optional: true, WriteOnly: true, Sensitive: true, Validators: secretRules,
				MarkdownDescription: "Secret that the service signs with. It is never written to a plan or state, and may " +
					"be an ephemeral value. " +
					"Requires `secret_wo_version`, and Terraform or OpenTofu 1.11; conflicts with `secret`.",
			},
			"secret_wo_version": schema.NumberAttribute{
				Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(math.MinInt64, math.MaxInt64)},
				MarkdownDescription: "Version of `secret_wo`, any whole number. Change it whenever you change `secret_wo`, " +
					"because Terraform cannot detect that." + replacesNote,
			},
			"created_at": schema.StringAttribute{
				Computed: true, CustomType: timetypes.RFC3339Type{},
				MarkdownDescription: "When the endpoint was registered, as an RFC 3339 time. Null on an imported endpoint.",
			},
		},
	}
}

func (r *webhookResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = tfkit.IdentityByID("Webhook endpoint id, of the form wh_….")
}

// ValidateConfig checks the events, and the combination of the attributes for the secret.
func (r *webhookResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	checkEvents(config.Events, &resp.Diagnostics)
	if isSet(config.Secret) && isSet(config.SecretWO) {
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "secret and secret_wo are both set",
			"The service signs events with one secret. Use secret_wo to keep the secret out of the state, or secret to store it there.")
	} else if isSet(config.SecretWO) && config.SecretWOVersion.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo_version"), "secret_wo requires secret_wo_version",
			"Terraform does not store write-only values, so only secret_wo_version shows that the secret changed. "+
				"Set secret_wo_version, for example to 1.")
	} else if isSet(config.SecretWOVersion) && config.SecretWO.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("secret_wo"), "secret_wo_version requires secret_wo",
			"secret_wo_version is the version of secret_wo, which is not set. Set secret_wo, or remove secret_wo_version.")
	}
}

// isSet reports whether a value is known and not null.
func isSet(v attr.Value) bool { return !v.IsNull() && !v.IsUnknown() }

// allEvents is the wildcard for all events.
const allEvents = "*"

// events returns the names of the events in API §6.
func events() []string {
	return []string{
		"card.created", "card.frozen", "card.unfrozen", "card.terminated", "card.funded",
		"transaction.authorized", "transaction.settled", "transaction.declined", "transaction.refunded",
		"3ds.challenge", "deposit.pending", "deposit.confirmed",
	}
}

// checkEvents checks a set of events against API §4.15 and §6. It ignores what is known only after apply: the
// whole set, or single names.
func checkEvents(set types.Set, diags *diag.Diagnostics) {
	if !isSet(set) {
		return
	}
	refuse := func(title, text string) { diags.AddAttributeError(path.Root("events"), title, text) }
	var names, undocumented []string
	for _, element := range set.Elements() {
		name, _ := element.(types.String)
		if name.IsUnknown() {
			continue
		}
		if name.IsNull() {
			refuse("Null event", "events must not contain null. Remove null values, for example with compact().")
			return
		}
		names = append(names, name.ValueString())
		if name.ValueString() != allEvents && !slices.Contains(events(), name.ValueString()) {
			undocumented = append(undocumented, strconv.Quote(name.ValueString()))
		}
	}
	if len(set.Elements()) == 0 {
		refuse("No events", `Name at least one event in events, or use ["*"] for all events.`)
	} else if len(undocumented) > 0 {
		refuse("Unknown event", fmt.Sprintf(`The service has no event %s. Use any of these events: %s. To receive all events, set events to ["*"].`,
			strings.Join(undocumented, " or "), strings.Join(events(), ", ")))
	} else if len(names) > 1 && slices.Contains(names, allEvents) {
		refuse("Wildcard must be the only event", `"*" already includes every event. Set events to ["*"], or list the events by name without "*".`)
	}
}

// checkHTTPSURL returns what is wrong with an endpoint's address, as in "must be an https:// address, …", or "". It
// repeats at most the scheme, because the rest of the address may contain a token.
func checkHTTPSURL(text string) string {
	u, err := url.Parse(text) // turns the scheme into lower case
	hasHTTPS := strings.HasPrefix(text, "https://")
	hasHTTPSInAnyCase := strings.HasPrefix(strings.ToLower(text), "https://")
	beforeQuery, _, _ := strings.Cut(text, "?") // the query may contain another address
	var got string
	switch {
	case strings.TrimSpace(text) != text:
		got = "an address with spaces or line breaks around it"
	case err != nil:
		got = "a text that is not an address"
	case u.Scheme == "":
		got = "an address without a scheme"
	case u.Scheme != "https":
		got = "an address that starts with " + u.Scheme + ":"
	case hasHTTPSInAnyCase && !hasHTTPS:
		got = "an address with a scheme that is not in lower case"
	case u.Hostname() == "":
		got = "an address without a host"
	case strings.Contains(text, " "):
		got = "an address with a space"
	case strings.Contains(text, "$"):
		got = "an address with a $, perhaps from a variable that was not replaced"
	case strings.Contains(strings.TrimPrefix(beforeQuery, "https://"), "://"):
		got = "an address with a second scheme"
	case u.User != nil:
		got = "an address with a user name or a password"
	case strings.Contains(text, "#"):
		got = "an address with a fragment (#)"
	case !isPortOrEmpty(u.Port()):
		got = "an address with a port that is not between 1 and 65535"
	default:
		return ""
	}
	return "must be an https:// address, such as https://example.com/events, got " + got + "."
}

// isPortOrEmpty reports whether a text is a port between 1 and 65535, or empty.
func isPortOrEmpty(text string) bool {
	if text == "" {
		return true
	}
	const bits = 16 // the largest number with 16 bits is 65535
	port, err := strconv.ParseUint(text, 10, bits)
	return err == nil && port > 0
}
