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
	"github.com/vcard/terraform-provider-vcard/internal/labels"
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
			MarkdownDescription: what + ", 1 to 1,000,000. Default: " + grouped(documented) + ", the service's limit.",
		}
	}
	return map[string]schema.Attribute{
		"api_key": schema.StringAttribute{
			Optional: true, Sensitive: true,
			MarkdownDescription: "API key of the account, from the dashboard under API access; it starts with `sk_live_`. Whoever holds it can " +
				"move the account's money. Prefer the environment variable `" + envAPIKey + "`.",
		},
		"base_url": text("Address of the service with its version, such as `https://host/api/v1`. Must be https; plain http is allowed to " +
			"this machine, and with a sandbox's key. Or set the environment variable `" + envBaseURL + "`."),
		"sandbox": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "Use the embedded sandbox, the whole service in a local file, instead of an account. Conflicts with `api_key` and " +
				"`base_url`. Or set the environment variable `" + envSandbox + "` to the file.",
			Attributes: map[string]schema.Attribute{
				"path": schema.StringAttribute{
					Required: true, Validators: []validator.String{tfkit.NotEmpty()},
					MarkdownDescription: "SQLite file that holds the sandbox, such as `vcard-sandbox.db`, in an existing folder; created if it does not exist. " +
						"On Windows, write `C:/cards/sandbox.db`. Keep it next to the Terraform state, because both describe the same cards. `:memory:` is refused.",
				},
				// A text, since Terraform says of a number in here that is none only that
				// something in sandbox is none.
				"initial_balance": text("USD in the wallet of a new sandbox, with at most two decimals. Default: 10000. "+
					"An existing sandbox keeps its balance.", tfkit.Rule("Not an amount", amountText)),
			},
		},
		"request_timeout": text("How long one request may take, such as `30s` or `2m`, at least 1s. Default: `"+transport.DefaultRequestTimeout.String()+"`.",
			tfkit.Rule("Invalid duration", timeout)),
		"max_retries": schema.NumberAttribute{
			Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(0, 20)},
			MarkdownDescription: "How often a request is retried after a broken connection or a server error, 0 to 20. Default: 4. " +
				"A request that moves money or changes a card is retried only after the provider has checked that it did not take effect. Waiting for a rate limit does not count.",
		},
		"idempotency_keys": text("What the service does with idempotency keys: `"+keysHonoured+"` if it counts requests with the same key once, `"+keysUnknown+"` (the default) if it may not. "+
			"With `"+keysHonoured+"`, a request whose response was lost is repeated; otherwise the provider waits, reads the card, and stops if it cannot tell whether money moved. Ask the service's support before you set it. The embedded sandbox honours keys.",
			tfkit.OneOf(keysUnknown, keysHonoured)),
		"label_prefix": text("Prefix of generated labels, 1 to 32 letters, digits, `.`, `_` and `-`, with a `-` at the end. Default: `"+labels.DefaultPrefix+"`. "+
			"The day and 20 random characters follow, as in `tf-20261123-k3…`. Give each workspace of an account its own, so that plans and `vcard statement --no-unmanaged` find the cards that a killed run left. "+
			"Write it as a literal: the statement cannot see the values of variables.",
			tfkit.Rule("Not a prefix of labels", labelPrefix)),
		"wallet_check": text("What happens if a plan takes more than the wallet holds: `warn` (the default), `error` to refuse the plan, or "+
			"`off`. A plan that other cards could still pay for, with what they return, only warns. "+
			"If the wallet cannot be read, the plan warns or is refused in the same way. "+
			"Actions are not counted. "+
			"Unless it is `off`, apply does not terminate a card for its replacement while the wallet cannot pay for the new one.",
			tfkit.OneOf(session.WalletCheckWarn, session.WalletCheckError, session.WalletCheckOff)),
		"max_card_load": amount(api.MinimumLoad, "Refuses a plan if the `amount` or `top_up.to` of a card, or the `amount` of an action `vcard_card_fund`, is above this, in USD with at most two decimals, at least "+api.MinimumLoad.String()+". "+
			"It catches cents typed for dollars. Default: no limit."),
		"max_taken_per_plan": amount(0, "The most that one plan may take from the wallet, in USD with at most two decimals: loads, issuance fees, funds and top-ups, "+
			"whatever returns to it. Each card that exceeds it is refused, as in a plan of a whole fleet in the wrong workspace. "+
			"Amounts that are known only during apply are counted then. Actions are not counted. Default: no limit."),
		"rate_limits": schema.SingleNestedAttribute{
			Optional:            true,
			MarkdownDescription: "Rate limits that this configuration stays below: a share, if several pipelines use one API key, or more, if support has raised the account's.",
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
