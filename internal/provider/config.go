package provider

import (
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
	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/labels"
	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/tfkit"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
	"github.com/vcard/terraform-provider-vcard/internal/usd/usdtype"
)

// Environment variables that set provider attributes.
const (
	envAPIKey  = "VCARD_API_KEY" //nolint:gosec // a name, not a key
	envBaseURL = "VCARD_BASE_URL"
	envSandbox = "VCARD_SANDBOX"
)

// The values of idempotency_keys.
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
	amount := func(minimum usd.Amount, description string) schema.NumberAttribute {
		return schema.NumberAttribute{
			Optional: true, CustomType: usdtype.Type{},
			Validators:          []validator.Number{tfkit.AtLeast(minimum)},
			MarkdownDescription: description,
		}
	}
	limit := func(serviceLimit int, name string) schema.NumberAttribute {
		return schema.NumberAttribute{
			Optional:   true,
			Validators: []validator.Number{tfkit.WholeNumberBetween(1, 1_000_000)},
			MarkdownDescription: name + ", 1 to 1,000,000. Default: " + display.Thousands(strconv.Itoa(serviceLimit)) +
				", the service's limit.",
		}
	}
	return map[string]schema.Attribute{
		"api_key": schema.StringAttribute{
			Optional: true, Sensitive: true,
			MarkdownDescription: "API key of the account. You create it in the dashboard under API access; " +
				"it starts with `sk_live_`. Anyone who has it can move the account's money, so prefer the environment variable `" + envAPIKey + "`.",
		},
		"base_url": text("Address of the service with its version, such as `https://host/api/v1`. " +
			"It must use https, except for this machine or with a sandbox's key. You can also set the environment variable `" + envBaseURL + "`."),
		"sandbox": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "Uses the embedded sandbox instead of an account: the whole service in a local file. " +
				"Conflicts with `api_key` and `base_url`. You can also set the environment variable `" + envSandbox + "` to the file.",
			Attributes: map[string]schema.Attribute{
				"path": schema.StringAttribute{
					Required: true, Validators: []validator.String{tfkit.NotEmpty()},
					MarkdownDescription: "SQLite file of the sandbox, such as `vcard-sandbox.db`. " +
						"The provider creates the file if it does not exist, but not its folder. " +
						"On Windows, write `C:/cards/sandbox.db`. Keep it next to the Terraform state, because both describe the same cards. " +
						"`:memory:` is not allowed.",
				},
				// A string, because Terraform reports an invalid number inside an object without the name of the attribute.
				"initial_balance": text("Initial wallet balance of a new sandbox in USD, with at most two decimals. Default: 10000. "+
					"An existing sandbox keeps its balance.", tfkit.Rule("Invalid amount", checkBalance)),
			},
		},
		"request_timeout": text("Timeout of one request, such as `30s` or `2m`; at least 1s. "+
			"Default: `"+transport.DefaultRequestTimeout.String()+"`.",
			tfkit.Rule("Invalid duration", checkTimeout)),
		"max_retries": schema.NumberAttribute{
			Optional: true, Validators: []validator.Number{tfkit.WholeNumberBetween(0, 20)},
			MarkdownDescription: "Maximum number of retries after a broken connection or a server error, 0 to 20. Default: " + strconv.Itoa(transport.DefaultMaxRetries) + ". " +
				"Before the provider retries a request that may have moved money or changed a card, it checks that the request did " +
				"not take effect. With `idempotency_keys = \"" + keysHonoured + "\"`, it retries with the same key and does not check first. " +
				"With that setting, it also goes on beyond the maximum for up to 10 minutes while the outcome is unknown, unless the maximum is 0. " +
				"Waiting for a rate limit does not count as a retry.",
		},
		"idempotency_keys": text("How the service treats idempotency keys: `"+keysHonoured+"` if it processes requests with the same key only once, `"+keysUnknown+"` (the default) otherwise. "+
			"With `"+keysHonoured+"`, the provider sends a request again if "+
			"its response was lost. "+
			"With `"+keysUnknown+"`, it waits, reads the card, and stops if it cannot tell whether money moved. "+
			"Ask the service's support before you set `"+keysHonoured+"`. The embedded sandbox honours keys.",
			tfkit.OneOf(keysUnknown, keysHonoured)),
		"label_prefix": text("Prefix of generated labels: 1 to 32 letters, digits, `.`, `_` and `-`, with a `-` at the end. Default: `"+labels.DefaultPrefix+"`. "+
			"The date and 20 random characters follow, as in `tf-20261123-k3…`. Give each workspace its own prefix, "+
			"so that plans and `vcard statement --no-unmanaged` find the cards of a run that was killed. "+
			"Write it as a literal, because the statement cannot read the values of variables.",
			tfkit.Rule("Invalid label prefix", checkLabelPrefix)),
		"wallet_check": text("What the provider does if a plan takes more than the wallet holds, or if it cannot read the wallet: "+
			"`warn` (the default), `error` to refuse the plan, or `off`. "+
			"With `error`, it still only warns if money from other cards could cover the plan. Actions are not counted. "+
			"With `warn` or `error`, apply keeps the old card of a replacement while the wallet cannot pay for the new card.",
			tfkit.OneOf(session.WalletCheckWarn, session.WalletCheckError, session.WalletCheckOff)),
		"max_card_load": amount(api.MinimumLoad, "Highest `amount` or `top_up.to` of a card, and highest `amount` of "+
			"the action `vcard_card_fund`, in USD with at most two decimals; "+
			"at least "+api.MinimumLoad.String()+". The provider refuses plans with a higher amount, for example if you wrote "+
			"cents instead of dollars. Default: no limit."),
		"max_taken_per_plan": amount(0, "Maximum that one plan may take from the wallet, in USD with at most two "+
			"decimals: the sum of initial loads, issuance fees, funding and top-ups. "+
			"Money that returns to the wallet is not deducted. "+
			"The provider refuses each card beyond the maximum, for example if you plan a whole fleet "+
			"in the wrong workspace. "+
			"Amounts that are known only during apply count during apply. Actions are not counted. Default: no limit."),
		"rate_limits": schema.SingleNestedAttribute{
			Optional: true,
			MarkdownDescription: "Rate limits of this configuration. Lower them if several pipelines share one API key; " +
				"raise them if support has raised the account's limits.",
			Attributes: map[string]schema.Attribute{
				"requests_per_minute": limit(ratelimit.DocumentedRequestsPerMinute, "Requests per minute"),
				"requests_per_hour":   limit(ratelimit.DocumentedRequestsPerHour, "Requests per hour"),
				"creates_per_minute":  limit(ratelimit.DocumentedCreatesPerMinute, "Cards issued per minute"),
				"details_per_minute":  limit(ratelimit.DocumentedDetailsPerMinute, "Card details read per minute"),
			},
		},
	}
}

// prefixForm matches 1 to 32 of the allowed characters, of which the last is a hyphen.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]{0,31}-$`)

// checkLabelPrefix returns what is wrong with a label prefix, as in "must be 1 to 32 letters …", or "".
func checkLabelPrefix(text string) string {
	if prefixForm.MatchString(text) {
		return ""
	}
	return fmt.Sprintf("must be 1 to 32 letters, digits, '.', '_' and '-', with a '-' at the end, got %q.", text)
}

// fillFromEnvironment sets api_key and base_url from the environment where they are null. It returns the path of the
// sandbox, from the configuration or from the environment, or "" if none is configured. If the configuration sets
// sandbox, it ignores all three variables. If the configuration sets api_key or base_url, it ignores VCARD_SANDBOX.
func (c *config) fillFromEnvironment(getenv func(string) string) string {
	if !c.Sandbox.IsNull() {
		path, _ := c.Sandbox.Attributes()["path"].(types.String)
		return path.ValueString()
	}
	sandboxPath := ""
	if !c.setsAccount() {
		sandboxPath = getenv(envSandbox)
		trimmed := strings.TrimSpace(sandboxPath)
		if trimmed != "" { // a path of spaces alone is kept, so that it is refused
			sandboxPath = trimmed
		}
	}
	c.APIKey = withFallback(c.APIKey, getenv(envAPIKey))
	c.BaseURL = withFallback(c.BaseURL, getenv(envBaseURL))
	return sandboxPath
}

// setsAccount reports whether the key or the address of an account is set.
func (c config) setsAccount() bool { return !c.APIKey.IsNull() || !c.BaseURL.IsNull() }

// withFallback returns an attribute, or the fallback if the attribute is null and the fallback is not empty.
func withFallback(attribute types.String, fallback string) types.String {
	if attribute.IsNull() && fallback != "" {
		return types.StringValue(fallback)
	}
	return attribute
}

// checkBalance returns what is wrong with an initial balance, as in "must be a number, …", or "".
func checkBalance(text string) string {
	_, err := parseBalance(text)
	if err != nil {
		return err.Error() + "."
	}
	return ""
}

// parseBalance parses an amount in USD, which must not be negative. Its error completes "initial_balance …".
func parseBalance(text string) (usd.Amount, error) {
	const precision = 512 // in bits, like Terraform's numbers
	number, _, err := big.ParseFloat(text, 10, precision, big.ToNearestEven)
	if err != nil {
		return 0, fmt.Errorf("must be a number, got %q", text)
	}
	value := usdtype.FromNumber(types.NumberValue(number))
	if value.Err() != nil {
		return 0, value.Err()
	}
	if value.Amount() < 0 {
		return 0, fmt.Errorf("must be at least %s USD, got %s", usd.Amount(0), value.Amount())
	}
	return value.Amount(), nil
}

// checkTimeout returns what is wrong with a request timeout, as in "must be a duration …", or "".
func checkTimeout(text string) string {
	duration, err := time.ParseDuration(text)
	if err != nil || duration < time.Second {
		return fmt.Sprintf("must be a duration of at least 1s, such as 30s or 2m, got %q.", text)
	}
	return ""
}
