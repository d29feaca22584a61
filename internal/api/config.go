package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// What a zero Config stands for.
const (
	DefaultRequestTimeout   = time.Minute
	DefaultOperationTimeout = 70 * time.Minute // an exhausted hourly budget comes free within it
	DefaultSettleWait       = 30 * time.Second
	DefaultMaxRetries       = 4
)

const (
	keyPrefix     = "sk_live_"
	versionPrefix = "/api/v1"
)

// Config says which service a client talks to, as whom, and how patiently.
type Config struct {
	// BaseURL ends in /api/v1. It is https, or http to a loopback address.
	BaseURL string
	// APIKey begins with sk_live_.
	APIKey string
	// UserAgent is sent with every request.
	UserAgent string
	// Transport carries the requests; nil is a transport of the client's own.
	Transport http.RoundTripper
	// RequestTimeout bounds one try, from sending to the end of the answer.
	RequestTimeout time.Duration
	// OperationTimeout bounds how long one call lets the service's 429 hold it
	// up. A context's deadline is followed when it is earlier.
	OperationTimeout time.Duration
	// SettleWait is the time that a request whose answer was lost is given to
	// take effect or not, before the client looks.
	SettleWait time.Duration
	// MaxRetries is how often a call is tried again after a lost answer or a
	// connection that could not be made; below zero is the default.
	MaxRetries int
	// Limits lowers the documented budgets.
	Limits Limits
	// Clock is injected by tests; nil is the system's.
	Clock Clock
	// Observe is told of every try; nil for nobody. It must be safe for
	// concurrent use, and is never given bodies, query strings or keys.
	Observe func(ctx context.Context, x Exchange)
}

// String leaves out the key, so that a configuration may be printed.
func (c Config) String() string {
	return fmt.Sprintf("service at %s as %q", c.BaseURL, c.UserAgent)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// Exchange describes one try of one request.
type Exchange struct {
	Method string
	Path   string // below the base URL, without the query
	Status int    // 0 when no answer came
	Try    int    // from 1
	Waited time.Duration
	Took   time.Duration
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.RequestTimeout, DefaultRequestTimeout},
		{&c.OperationTimeout, DefaultOperationTimeout},
		{&c.SettleWait, DefaultSettleWait},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if c.MaxRetries < 0 {
		c.MaxRetries = DefaultMaxRetries
	}
	if c.UserAgent == "" {
		c.UserAgent = "terraform-provider-vcard"
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	return c
}

// checkBaseURL returns the base without a slash at its end.
func checkBaseURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return "", errors.New("the base URL is not an address such as https://cards.example.com" + versionPrefix)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the base URL must hold neither a user name nor a query nor a fragment; the API key has a place of its own")
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && isLoopback(u.Hostname()):
	case u.Scheme == "http":
		return "", fmt.Errorf("the base URL must begin with https:// (plain http would show the API key to the network, and is accepted for a loopback address only, which %s is not)", u.Host)
	default:
		return "", fmt.Errorf("the base URL must begin with https://, not with %s://", u.Scheme)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(u.Path, versionPrefix) {
		return "", fmt.Errorf("the base URL must end in %s, as in %s://%s%s", versionPrefix, u.Scheme, u.Host, versionPrefix)
	}
	return u.String(), nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// checkKey never repeats the key, which may be right for another service.
func checkKey(key string) error {
	if !strings.HasPrefix(key, keyPrefix) || len(key) == len(keyPrefix) {
		return errors.New("the API key must begin with " + keyPrefix + "; keys are generated in the dashboard under API access")
	}
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return errors.New("the API key holds a space, a line break or another character that no key has; copy it again from the dashboard")
		}
	}
	return nil
}
