package transport

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/ratelimit"
)

const (
	// DefaultRequestTimeout allows for a slow issuance.
	DefaultRequestTimeout = time.Minute
	// DefaultMaxRetries is the recommended MaxRetries. The zero value of a Config means no retries.
	DefaultMaxRetries = 4
	// OperationTimeout limits long operations, such as a change that waits because of 429 responses.
	// It is longer than an hour, so that an exhausted hourly limit is available again.
	OperationTimeout = 70 * time.Minute
	// CommitWait is how long a request whose response was lost is given to take effect. It assumes
	// that the service stops working on a request sooner than that.
	CommitWait = 30 * time.Second
)

const (
	keyPrefix     = "sk_live_"
	versionPrefix = "/api/v1"
)

// SandboxKeyPrefix is the prefix of a sandbox's API keys, which move play money.
const SandboxKeyPrefix = keyPrefix + "sandbox_"

// Config is the configuration of a client.
type Config struct {
	// BaseURL starts with https:// and ends in /api/v1. http:// is also allowed if the host is a
	// loopback address or if APIKey is a sandbox's key.
	BaseURL string
	// APIKey begins with sk_live_.
	APIKey    Secret
	UserAgent string
	Transport http.RoundTripper // if nil, the client makes its own
	// RequestTimeout limits one attempt, from sending to the end of the response. If it is not
	// positive, DefaultRequestTimeout applies.
	RequestTimeout time.Duration
	// MaxRetries limits the retries of a call. Some attempts do not count, for example those after
	// the service's 429 responses. With KeysHonoured, a change with an unknown outcome may be
	// repeated more often.
	MaxRetries int
	// KeysHonoured says that the service executes requests with the same idempotency key only
	// once, so that a change can be repeated without verifying first whether it was made.
	KeysHonoured bool
	Limits       ratelimit.Limits // zero fields mean the documented limits (API §8)
	Clock        ratelimit.Clock  // if nil, the system's clock
	// Observe, if not nil, is called after each attempt that got past the rate limits. It must be safe for
	// concurrent use.
	Observe func(ctx context.Context, x Exchange)
}

// Exchange describes one attempt of one request, without bodies, query strings and keys.
type Exchange struct {
	Method  string
	Path    string        // below the base URL, without the query
	Status  int           // 0 without a response
	Attempt int           // the number of the attempt, from 1
	Waited  time.Duration // how long it waited for the rate limits
	Took    time.Duration // from sending to the end of the response
}

// ConfigError reports which setting of a client violates which rule.
type ConfigError struct {
	Field string // such as FieldBaseURL, or the name of an environment variable
	Rule  string // completes "<field> must …"
	// Secret reports whether the value is or may contain a secret, so that it must not be shown.
	Secret bool
}

// The names of the fields of a Config, as in a ConfigError.
const (
	FieldBaseURL = "base URL"
	FieldAPIKey  = "API key"
)

func (e *ConfigError) Error() string { return "the " + e.Field + " must " + e.Rule }

// checkBaseURL checks the base URL of a client with the given key. It returns the URL with its host in lower case, and
// without surrounding spaces or trailing slashes. The error is a *ConfigError.
func checkBaseURL(text, key string) (string, error) {
	violation := func(format string, args ...any) (string, error) {
		return "", &ConfigError{
			Field:  FieldBaseURL,
			Rule:   fmt.Sprintf(format, args...),
			Secret: strings.ContainsAny(text, "@?#"), // around these, a URL may contain secrets
		}
	}
	// This check comes before the rules whose texts repeat a part of the URL, which might be a key.
	if strings.Contains(strings.ToLower(text), keyPrefix) {
		return "", &ConfigError{Field: FieldBaseURL, Rule: "not contain an API key; set the key separately", Secret: true}
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return violation("be an address such as https://cards.example.com%s, without quotes. "+
			"A sandbox's address starts with http://", versionPrefix)
	}
	hasQuery := u.RawQuery != "" || u.ForceQuery // the latter for a question mark alone
	if u.User != nil || hasQuery || u.Fragment != "" {
		return "", &ConfigError{Field: FieldBaseURL, Rule: "not contain a user name, a query or a fragment", Secret: true}
	}
	plainAllowed := IsLoopback(u.Hostname()) || strings.HasPrefix(key, SandboxKeyPrefix)
	if u.Scheme == "http" && !plainAllowed {
		return violation("start with https://, because plain http would send the API key unencrypted to %s. "+
			"Plain http is allowed only to this machine or with a sandbox's key", u.Host)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return violation("start with https://, not with %s://", u.Scheme)
	}
	if u.Port() != "" {
		const portBits = 16
		port, err := strconv.ParseUint(u.Port(), 10, portBits)
		if err != nil || port == 0 {
			return violation("have a port between 1 and 65535")
		}
	}
	u.Host = strings.ToLower(u.Host)
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, versionPrefix) {
		return violation("end in %s, as in %s://%s%s", versionPrefix, u.Scheme, u.Host, versionPrefix)
	}
	base := u.String()
	// The zone of an IPv6 address can make the text of a parsed URL invalid.
	_, err = url.Parse(base)
	if err != nil {
		return violation("be an address such as https://cards.example.com%s", versionPrefix)
	}
	return base, nil
}

// IsLoopback reports whether a host is "localhost" or a loopback address.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// checkKey checks the form of an API key without surrounding spaces. The error is a *ConfigError.
func checkKey(key string) error {
	violation := func(rule string) error {
		return &ConfigError{Field: FieldAPIKey, Rule: rule, Secret: true}
	}
	scheme, _, _ := strings.Cut(key, " ")
	if strings.EqualFold(scheme, "Bearer") {
		return violation("begin with " + keyPrefix + ", without the word Bearer, which the provider adds itself")
	}
	const quotes = "\"'`"
	if strings.Trim(key, quotes) != key {
		return violation("begin with " + keyPrefix + ", without quotes around it")
	}
	if !strings.HasPrefix(key, keyPrefix) {
		return violation("begin with " + keyPrefix)
	}
	if key == keyPrefix {
		return violation("be longer than the prefix " + keyPrefix)
	}
	for _, r := range key {
		if r < '!' || r > '~' { // outside of the printable ASCII characters, or a space
			return violation("contain only printable ASCII characters, without spaces or line breaks")
		}
	}
	return nil
}
