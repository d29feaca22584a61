package provider

import (
	"cmp"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// The environment variables that stand in for provider attributes.
const (
	envAPIKey  = "VCARD_API_KEY" //nolint:gosec // a name, not a key
	envBaseURL = "VCARD_BASE_URL"
	envSandbox = "VCARD_SANDBOX"
)

// What idempotency_keys can be.
const (
	keysUnknown  = "unknown"
	keysHonoured = "honoured"
)

type config struct {
	APIKey          types.String  `tfsdk:"api_key"`
	BaseURL         types.String  `tfsdk:"base_url"`
	Sandbox         types.Object  `tfsdk:"sandbox"`
	RequestTimeout  types.String  `tfsdk:"request_timeout"`
	MaxRetries      types.Number  `tfsdk:"max_retries"`
	RateLimits      types.Object  `tfsdk:"rate_limits"`
	IdempotencyKeys types.String  `tfsdk:"idempotency_keys"`
	LabelPrefix     types.String  `tfsdk:"label_prefix"`
	WalletCheck     types.String  `tfsdk:"wallet_check"`
	MaxCardLoad     usdtype.Value `tfsdk:"max_card_load"`
	MaxTakenPerPlan usdtype.Value `tfsdk:"max_taken_per_plan"`
}

type sandboxConfig struct {
	Path           types.String `tfsdk:"path"`
	InitialBalance types.String `tfsdk:"initial_balance"`
}

type rateLimits struct {
	RequestsPerMinute types.Number `tfsdk:"requests_per_minute"`
	RequestsPerHour   types.Number `tfsdk:"requests_per_hour"`
	CreatesPerMinute  types.Number `tfsdk:"creates_per_minute"`
	DetailsPerMinute  types.Number `tfsdk:"details_per_minute"`
}

func configAttributes() map[string]schema.Attribute {
	text := func(description string, checks ...validator.String) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Validators: checks, MarkdownDescription: description}
	}
	amount := func(least usd.Amount, description string) schema.NumberAttribute {
		return schema.NumberAttribute{
			Optional: true, CustomType: usdtype.Type{}, Validators: []validator.Number{tfkit.AtLeast(least)}, MarkdownDescription: description,
		}
	}
	limit := func(documented int, what string) schema.NumberAttribute {
		return schema.NumberAttribute{
			Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(1, 1_000_000)},
			MarkdownDescription: what + ", 1 to 1,000,000; default " + grouped(documented) + ", the service's own limit.",
		}
	}
	return map[string]schema.Attribute{
		"api_key": schema.StringAttribute{
			Optional: true, Sensitive: true,
			MarkdownDescription: "API key of the account, made in the dashboard under API access; begins with `sk_live_`. Whoever holds it can " +
				"move the account's money. Prefer the environment variable `" + envAPIKey + "`.",
		},
		"base_url": text("Address of the service with its version prefix, as in `https://host/api/v1`. Must be https; plain http is allowed to " +
			"this machine, and with a sandbox's key. Can be set by the environment variable `" + envBaseURL + "`."),
		"sandbox": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "Use the embedded sandbox, the whole service on a local file, in place of an account. Excludes `api_key` and " +
				"`base_url`. The environment variable `" + envSandbox + "` can name the file instead.",
			Attributes: map[string]schema.Attribute{
				"path": schema.StringAttribute{
					Required: true, Validators: []validator.String{tfkit.NotEmpty()},
					MarkdownDescription: "SQLite file that holds the sandbox, with an extension, as in `vcard-sandbox.db`; made when it does not exist, in a folder that does. " +
						"On Windows, write `C:/cards/sandbox.db`. Keep it beside the Terraform state, as both tell of the same cards; when no run is on, this one file holds everything. `:memory:` is refused.",
				},
				// A text, since Terraform says of a number in here that is none only that
				// something in sandbox is none.
				"initial_balance": text("USD in the wallet of a sandbox that is made anew, a number with at most two decimals; default 10000. "+
					"An existing sandbox keeps its balance.", tfkit.Rule("Not an amount", amountText)),
			},
		},
		"request_timeout": text("How long one request may take, as a duration such as `30s` or `2m`, at least 1s; default `"+transport.DefaultRequestTimeout.String()+"`.",
			tfkit.Rule("Invalid duration", timeout)),
		"max_retries": schema.NumberAttribute{
			Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(0, 20)},
			MarkdownDescription: "How often a call is tried again after a broken connection or a server error, 0 to 20; default 4. While planning, a connection that is refused is tried again at most twice, and what failed for every call is not tried again by the next. " +
				"What moves money or changes a card is sent again only once the provider has looked and found that it did not take effect. Waiting out a rate limit does not count.",
		},
		"idempotency_keys": text("What the service does with the idempotency key that each change carries: `"+keysHonoured+"` when it is known to count requests with the same key once, `"+keysUnknown+"` (the default) when it may not. "+
			"With `"+keysHonoured+"` a lost response is simply asked for again; otherwise the provider waits, looks, and stops where it cannot tell whether money has moved. Ask the service's support before you set it. The embedded sandbox honours keys.",
			tfkit.OneOf(keysUnknown, keysHonoured)),
		"label_prefix": text("What the labels begin with of cards that are given none, 1 to 32 letters, digits, `.`, `_` and `-`, with a `-` at the end; default `"+session.DefaultLabelPrefix+"`. "+
			"The day and 20 random characters follow, as in `tf-20261123-k3…`. Give each workspace of an account its own: a plan names live cards of its prefix that a run which was cut off may have left, and `vcard statement -no-unmanaged` refuses them. "+
			"Write it as a text: the statement reads it in the plan's JSON, which does not tell what variables make of it.",
			tfkit.Rule("Not a prefix of labels", labelPrefix)),
		"wallet_check": text("What happens when a plan takes more than the wallet holds: `warn` (the default), `error` to refuse the plan, or "+
			"`off`. A plan that the other cards might still pay for, with what they return, only warns. "+
			"Where the wallet cannot be read, a plan that takes from it warns or is refused likewise. "+
			"Actions are not counted. "+
			"Unless it is `off`, apply checks each replacement too: it does not terminate a card while the wallet, with what the card returns, cannot pay for the new one.",
			tfkit.OneOf(session.WalletCheckWarn, session.WalletCheckError, session.WalletCheckOff)),
		"max_card_load": amount(api.MinimumLoad, "The most that one card may be given, in USD with at most two decimals, at least "+api.MinimumLoad.String()+". A plan is refused where the `amount` or `top_up.to` of a card is above it, or the `amount` of an action `vcard_card_fund`: "+
			"it catches cents that were typed for dollars. Not set: no bound."),
		"max_taken_per_plan": amount(0, "The most that one plan may take from the wallet, in USD with at most two decimals: loads, issuance fees, funds and top-ups. "+
			"What returns to the wallet does not count, so a replacement counts with its whole load and fee. A card with which the plan would take more is refused, as in a plan of a whole "+
			"fleet in the wrong workspace. Amounts that are known only during apply are counted, and refused, then. Not counted: actions. Not set: no bound."),
		"rate_limits": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "What this configuration keeps to of the service's rate limits: a smaller share, for an API key that several pipelines use at once, or more, where support has raised them.",
			Attributes: map[string]schema.Attribute{
				"requests_per_minute": limit(ratelimit.DocumentedRequestsPerMinute, "Requests per minute"),
				"requests_per_hour":   limit(ratelimit.DocumentedRequestsPerHour, "Requests per hour"),
				"creates_per_minute":  limit(ratelimit.DocumentedCreatesPerMinute, "Cards issued per minute"),
				"details_per_minute":  limit(ratelimit.DocumentedDetailsPerMinute, "Card details read per minute"),
			},
		},
	}
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]{0,31}-$`)

func labelPrefix(text string) string {
	if prefixForm.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("must be 1 to 32 letters, digits, '.', '_' and '-', with a '-' at the end, got %q.", text)
}

func grouped(n int) string {
	thousands, are := strings.CutSuffix(strconv.Itoa(n), "000")
	if are {
		thousands += ",000"
	}
	return thousands
}

// fillFromEnvironment takes what the configuration leaves out from the
// environment, and returns the sandbox's path, if one is used. What is written for one
// way of use keeps out the other way's variables.
func (c *config) fillFromEnvironment(getenv func(string) string) (sandboxPath string) {
	if c.Sandbox.IsNull() && c.APIKey.IsNull() && c.BaseURL.IsNull() {
		sandboxPath = getenv(envSandbox)
		sandboxPath = cmp.Or(strings.TrimSpace(sandboxPath), sandboxPath)
	}
	if path, ok := c.Sandbox.Attributes()["path"].(types.String); ok {
		return path.ValueString()
	}
	for _, v := range []struct {
		attribute *types.String
		variable  string
	}{{&c.APIKey, envAPIKey}, {&c.BaseURL, envBaseURL}} {
		if value := getenv(v.variable); v.attribute.IsNull() && value != "" {
			*v.attribute = types.StringValue(value)
		}
	}
	return sandboxPath
}

func amountText(text string) string {
	if _, err := readAmount(text); err != nil {
		return err.Error() + "."
	}
	return ""
}

// readAmount reads an amount in USD. Its error completes "initial_balance …".
func readAmount(text string) (usd.Amount, error) {
	number, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven) // with the precision of Terraform's numbers
	if err != nil {
		return 0, fmt.Errorf("must be a number, got %q", text)
	}
	amount := usdtype.FromNumber(types.NumberValue(number))
	if amount.Err() == nil && amount.Amount() < 0 {
		return 0, fmt.Errorf("must be at least %s USD, got %s", usd.Amount(0), amount.Amount())
	}
	return amount.Amount(), amount.Err()
}

func timeout(text string) string {
	if d, err := time.ParseDuration(text); err == nil && d >= time.Second {
		return ""
	}
	return fmt.Sprintf("must be a duration of at least 1s, written like 30s or 2m, got %q.", text)
}
