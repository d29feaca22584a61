package transport

import (
	"cmp"
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
	// DefaultRequestTimeout is what the slowest issuance may take.
	DefaultRequestTimeout = time.Minute
	// DefaultMaxRetries is for those who make a Config, of which zero is none.
	DefaultMaxRetries = 4
	// OperationTimeout bounds how long one call lets the service's 429 hold it up, which
	// is enough for an exhausted hourly budget to come free.
	OperationTimeout = 70 * time.Minute
	// CommitWait is the time that a request whose response was lost is given to take
	// effect or not, longer than a service works on one that its caller has given up.
	CommitWait = 30 * time.Second
)

const (
	keyPrefix     = "sk_live_"
	versionPrefix = "/api/v1"
)

// SandboxKeyPrefix is the prefix of a sandbox's API keys, which move play money.
const SandboxKeyPrefix = keyPrefix + "sandbox_"

// Config says which service a client talks to, as whom, and how patiently.
type Config struct {
	// BaseURL ends in /api/v1. It is https, or http to a loopback address or with a
	// sandbox's key.
	BaseURL string
	// APIKey begins with sk_live_.
	APIKey    Secret
	UserAgent string
	Transport http.RoundTripper // nil is one of the client's own
	// RequestTimeout bounds one attempt, from sending to the end of the response.
	RequestTimeout time.Duration
	// MaxRetries is how often a call is tried again after a lost response or a
	// connection that could not be made.
	MaxRetries int
	// KeysHonoured says that the service counts requests with the same idempotency key
	// once. The client then asks for a lost response at once, else it waits and verifies.
	KeysHonoured bool
	Limits       ratelimit.Limits // zero keeps the documented ones (API §8)
	Clock        ratelimit.Clock  // nil is the system's
	// Observe, if not nil, is called for every attempt. It must be safe for
	// concurrent use, and is never given bodies, query strings or keys.
	Observe func(ctx context.Context, x Exchange)
}

// Exchange describes one attempt of one request.
type Exchange struct {
	Method  string
	Path    string // below the base URL, without the query
	Status  int    // 0 when no response came
	Attempt int    // from 1
	Waited  time.Duration
	Took    time.Duration
}

// ConfigError says which field of a Config breaks which rule. It never repeats
// the key, which may be right for another service.
type ConfigError struct {
	Field string // FieldBaseURL, FieldAPIKey, or a variable of the environment
	Rule  string // completes "<field> must …"
	// Secret says that the value holds a secret, and must not be shown.
	Secret bool
}

// The fields that New checks.
const (
	FieldBaseURL = "base URL"
	FieldAPIKey  = "API key"
)

func (e *ConfigError) Error() string { return "the " + e.Field + " must " + e.Rule }

// checkBaseURL returns the base for a key, its host in lower case and without a slash
// at its end.
func checkBaseURL(text, key string) (string, error) {
	breaks := func(format string, args ...any) (string, error) {
		return "", &ConfigError{Field: FieldBaseURL, Rule: fmt.Sprintf(format, args...), Secret: strings.ContainsAny(text, "@?#")} // where secrets may be
	}
	if strings.Contains(strings.ToLower(text), keyPrefix) { // ahead of every rule that repeats a part of it
		return "", &ConfigError{Field: FieldBaseURL, Rule: "not hold an API key, which has a place of its own", Secret: true}
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return breaks("be an address such as https://cards.example.com%s, with https:// (a sandbox's with http://) and without quotes", versionPrefix)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", &ConfigError{Field: FieldBaseURL, Rule: "hold neither a user name nor a query nor a fragment; the API key has a place of its own", Secret: true}
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && (IsLoopback(u.Hostname()) || strings.HasPrefix(key, SandboxKeyPrefix)):
	case u.Scheme == "http":
		return breaks("begin with https://: plain http would show the API key to the network, and is accepted for a loopback address or with a sandbox's key only; %s is not this machine", u.Host)
	default:
		return breaks("begin with https://, not with %s://", u.Scheme)
	}
	if port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil || port == 0 {
		return breaks("have a port between 1 and 65535")
	}
	u.Host, u.Path = strings.ToLower(u.Host), strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, versionPrefix) {
		return breaks("end in %s, as in %s://%s%s", versionPrefix, u.Scheme, u.Host, versionPrefix)
	}
	base := u.String()
	if _, err := url.Parse(base); err != nil { // of a zone that is no text
		return breaks("be an address such as https://cards.example.com%s", versionPrefix)
	}
	return base, nil
}

// IsLoopback reports whether a host name or address is this machine's own.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func checkKey(key string) error {
	breaks := func(rule string) error { return &ConfigError{Field: FieldAPIKey, Rule: rule} }
	switch scheme, _, _ := strings.Cut(key, " "); {
	case strings.EqualFold(scheme, "Bearer"):
		return breaks("begin with " + keyPrefix + ", without the word Bearer, which the provider adds itself")
	case strings.Trim(key, `"'`+"`") != key:
		return breaks("begin with " + keyPrefix + ", without the quotes that stand around it")
	case !strings.HasPrefix(key, keyPrefix) || len(key) == len(keyPrefix):
		return breaks("begin with " + keyPrefix)
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return breaks("hold no space, no line break and no other character that no key has")
		}
	}
	return nil
}
