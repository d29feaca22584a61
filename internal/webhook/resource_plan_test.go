package webhook_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

type object = acctest.Object

const (
	typeName = "vcard_webhook"
	host     = "hooks.example.com"
)

// endpoint is a configuration with these changes.
func endpoint(changes object) object {
	config := object{"url": "https://" + host + "/cards?token=hush", "events": []any{"card.created"}}
	maps.Copy(config, changes)
	return config
}

// holds checks that a text that is said has these words, and no token.
func holds(t *testing.T, what, text string, words ...string) {
	t.Helper()
	sandboxtest.Says(t, what, text, words...)
	if strings.Contains(text, "hush") {
		t.Errorf("%s: tells a secret: %s", what, text)
	}
}

// registered is an endpoint that was applied with this configuration.
func registered(t *testing.T, p *acctest.Protocol, config object) acctest.Instance {
	t.Helper()
	plan, diags := p.Plan(acctest.Instance{Type: typeName}, config)
	diags.Must(t)
	if warnings := diags.Warnings(); warnings != "" {
		t.Errorf("a new endpoint warns of %s", warnings)
	}
	instance, diags := p.Apply(plan, nil)
	diags.Must(t)
	if created := fmt.Sprint(instance.Values["created_at"]); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT.*Z$`).MatchString(created) {
		t.Errorf("it was created at %s", created)
	}
	return instance
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for name, c := range map[string]struct {
		config object
		want   []string
	}{
		"http":                 {endpoint(object{"url": "http://hooks.example.com/t/hush"}), []string{"url", "https://", "begins with http:"}},
		"no scheme":            {endpoint(object{"url": "hooks.example.com/t/hush"}), []string{"url", "https://", "without a scheme"}},
		"no host":              {endpoint(object{"url": "https:///hush"}), []string{"url", "without a host"}},
		"no address":           {endpoint(object{"url": "https://%zz hush"}), []string{"url", "no address"}},
		"no port":              {endpoint(object{"url": "https://hooks.example.com:65536/hush"}), []string{"url", "port over 65535"}},
		"user info":            {endpoint(object{"url": "https://me:hush@hooks.example.com/"}), []string{"url", "one with a user name or a password"}},
		"a space":              {endpoint(object{"url": "https://hooks.example.com/hush\u00a0"}), []string{"url", "one with spaces or line breaks around it"}},
		"a fragment":           {endpoint(object{"url": "https://hooks.example.com/hush#"}), []string{"url", "one with a fragment (#)"}},
		"no events":            {endpoint(object{"events": []any{}}), []string{"events", "at least one event"}},
		"unknown event":        {endpoint(object{"events": []any{"card.created", "card.eaten"}}), []string{"events", `"card.eaten"`, "3ds.challenge"}},
		"all and one":          {endpoint(object{"events": []any{"*", "card.created"}}), []string{"events", `["*"]`, "alone"}},
		"null event":           {endpoint(object{"events": []any{"card.created", nil}}), []string{"events", "null"}},
		"empty secret":         {endpoint(object{"secret": ""}), []string{"secret", "must not be empty"}},
		"empty write-only":     {endpoint(object{"secret_wo": "", "secret_wo_version": 1}), []string{"secret_wo must not be empty"}},
		"secret_wo alone":      {endpoint(object{"secret_wo": "hush"}), []string{"secret_wo needs secret_wo_version"}},
		"version alone":        {endpoint(object{"secret_wo_version": 1}), []string{"secret_wo_version needs secret_wo"}},
		"two lines":            {endpoint(object{"secret": "hush\n"}), []string{"secret must be one line", "trimspace()"}},
		"both without version": {endpoint(object{"secret": "hush", "secret_wo": "hush"}), []string{"secret and secret_wo exclude each other"}},
	} {
		_, diags := p.Plan(acctest.Instance{Type: typeName}, c.config)
		if holds(t, name, diags.Errors(), c.want...); len(diags) != 1 {
			t.Errorf("%s: %d diagnostics, want one error", name, len(diags))
		}
	}
}

func TestUnknownInputIsNoMistake(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for name, c := range map[string]struct {
		changes object
		secret  any // planned
	}{
		"url":                     {object{"url": acctest.Unknown}, acctest.Unknown},
		"events":                  {object{"events": acctest.Unknown}, acctest.Unknown},
		"an event":                {object{"events": []any{"card.created", acctest.Unknown}}, acctest.Unknown},
		"all and maybe the same":  {object{"events": []any{"*", acctest.Unknown}}, acctest.Unknown},
		"secret":                  {object{"secret": acctest.Unknown}, acctest.Unknown},
		"secret and secret_wo":    {object{"secret": acctest.Unknown, "secret_wo": "x", "secret_wo_version": 1}, acctest.Unknown},
		"secret_wo":               {object{"secret_wo": acctest.Unknown, "secret_wo_version": 1}, acctest.Unknown},
		"secret_wo alone":         {object{"secret_wo": acctest.Unknown}, acctest.Unknown},
		"secret_wo_version":       {object{"secret_wo": "x", "secret_wo_version": acctest.Unknown}, nil},
		"secret_wo_version alone": {object{"secret_wo_version": acctest.Unknown}, acctest.Unknown},
	} {
		plan, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(c.changes))
		if text := diags.Errors(); text != "" {
			t.Errorf("%s unknown: %s", name, text)
		} else if plan.Planned["secret"] != c.secret {
			t.Errorf("%s unknown: secret is planned as %v, want %v", name, plan.Planned["secret"], c.secret)
		}
	}
}

func TestWriteOnlySecretKnownAfterApply(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	p := s.Protocol(nil)
	plan, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(object{"secret_wo": acctest.Unknown, "secret_wo_version": 1}))
	diags.Must(t)
	hook, diags := p.Apply(plan, object{"secret": nil, "secret_wo": "hush-hush"})
	diags.Must(t)
	if hook.Values["secret"] != nil || hook.Values["secret_wo"] != nil {
		t.Error("a write-only secret came into the state")
	}
	if strings.Contains(p.Log(), "hush") {
		t.Error("a secret or a token came into the log")
	}
}

// TestReplacement plans each change of a registered endpoint.
func TestReplacement(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	generated := registered(t, p, endpoint(nil))
	custom := registered(t, p, endpoint(object{"secret": "hush"}))
	writeOnly := registered(t, p, endpoint(object{"secret_wo": "hush", "secret_wo_version": 1}))
	for name, c := range map[string]struct {
		from     acctest.Instance
		to       object
		replaces []string
		warns    []string
	}{
		"nothing":            {generated, endpoint(nil), nil, nil},
		"url":                {generated, endpoint(object{"url": "https://example.org/"}), []string{"url"}, []string{"newly generated secret"}},
		"url unknown":        {generated, endpoint(object{"url": acctest.Unknown}), []string{"url"}, []string{"url is known only after apply"}},
		"events":             {generated, endpoint(object{"events": []any{"*"}}), []string{"events"}, nil},
		"an event unknown":   {generated, endpoint(object{"events": []any{acctest.Unknown}}), []string{"events"}, nil},
		"secret":             {generated, endpoint(object{"secret": "hush"}), []string{"secret"}, nil},
		"secret unknown":     {custom, endpoint(object{"secret": acctest.Unknown}), []string{"secret"}, []string{"secret is known only after apply"}},
		"secret kept":        {custom, endpoint(object{"secret": "hush"}), nil, nil},
		"secret taken out":   {custom, endpoint(nil), nil, nil},
		"to write-only":      {custom, endpoint(object{"secret_wo": "hush-2", "secret_wo_version": 1}), []string{"secret_wo_version"}, nil},
		"from write-only":    {writeOnly, endpoint(object{"secret": "hush"}), []string{"secret", "secret_wo_version"}, nil},
		"write-only out":     {writeOnly, endpoint(nil), []string{"secret_wo_version"}, []string{"newly generated secret"}},
		"version":            {writeOnly, endpoint(object{"secret_wo": "hush", "secret_wo_version": 2}), []string{"secret_wo_version"}, nil},
		"version unknown":    {writeOnly, endpoint(object{"secret_wo": "hush", "secret_wo_version": acctest.Unknown}), []string{"secret_wo_version"}, nil},
		"same version":       {writeOnly, endpoint(object{"secret_wo": "hush-2", "secret_wo_version": 1}), nil, nil},
		"write-only unknown": {writeOnly, endpoint(object{"secret_wo": acctest.Unknown, "secret_wo_version": 1}), nil, nil},
	} {
		plan, diags := p.Plan(c.from, c.to)
		diags.Must(t)
		warnings := diags.Warnings()
		if !slices.Equal(plan.Replaces, c.replaces) {
			t.Errorf("%s: replaces for %v, want %v", name, plan.Replaces, c.replaces)
		}
		if c.replaces == nil {
			if warnings != "" {
				t.Errorf("%s: warns of %s", name, warnings)
			}
			for attribute, was := range c.from.Values {
				if attribute != "events" && plan.Planned[attribute] != was {
					t.Errorf("%s: plans another %s", name, attribute)
				}
			}
			continue
		}
		id, _ := c.from.Values["id"].(string)
		holds(t, name, warnings, slices.Concat(c.warns, c.replaces, []string{id, "stays registered", host, "dashboard"})...)
		if _, diags := p.Plan(plan.After(), c.to); len(diags) > 0 {
			t.Errorf("%s: the second plan says %s%s", name, diags.Errors(), diags.Warnings())
		}
	}
}

// Of a tainted endpoint there is no plan that could say that it stays registered.
func TestTaintedEndpointStaysRegistered(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	tainted := acctest.Change{Prior: registered(t, p, endpoint(nil))}
	_, diags := p.Apply(tainted, nil)
	diags.Must(t)
	holds(t, "tainted", diags.Warnings(), fmt.Sprint(tainted.Prior.Values["id"]), "stays registered", host, "dashboard")
}

func TestSharedURL(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t)
	const warning = "Two webhook endpoints receive the same events at one URL"
	for name, c := range map[string]struct {
		first, second object
		warns         bool
	}{
		"same":              {nil, nil, true},
		"all and one":       {object{"events": []any{"*"}}, nil, true},
		"one and all":       {nil, object{"events": []any{"*"}}, true},
		"one in common":     {object{"events": []any{"card.created", "card.frozen"}}, object{"events": []any{"card.frozen"}}, true},
		"nothing in common": {object{"events": []any{"card.created"}}, object{"events": []any{"card.frozen"}}, false},
		"another path":      {nil, object{"url": "https://example.org/"}, false},
		"url unknown":       {nil, object{"url": acctest.Unknown}, false},
	} {
		p := s.Protocol(nil)
		first, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(c.first))
		if text := diags.Warnings(); text != "" {
			t.Errorf("%s: the first one alone: %s", name, text)
		}
		_, diags = p.Plan(acctest.Instance{Type: typeName}, endpoint(c.second))
		if text := diags.Warnings(); strings.Contains(text, warning) != c.warns || strings.Contains(text, "hush") {
			t.Errorf("%s: the second one: %q", name, text)
		}
		// Once one is there, a plan of both warns again, and of one alone does not.
		known, diags := p.Apply(first, nil)
		diags.Must(t)
		p = s.Protocol(nil)
		for range 2 {
			if _, diags = p.Plan(known, endpoint(c.first)); diags.Warnings() != "" {
				t.Errorf("%s: planned twice: %s", name, diags.Warnings())
			}
		}
		if _, diags = p.Plan(acctest.Instance{Type: typeName}, endpoint(c.second)); strings.Contains(diags.Warnings(), warning) != c.warns {
			t.Errorf("%s: a new one beside it: %q", name, diags.Warnings())
		}
	}
}

func TestUnknownProvider(t *testing.T) {
	t.Parallel()
	hook := registered(t, acctest.Start(t).Protocol(nil), endpoint(nil))
	p := acctest.Configure(t, object{"base_url": acctest.Unknown, "api_key": acctest.Unknown})
	if _, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(nil)); len(diags) > 0 {
		t.Errorf("a creation cannot be planned: %s%s", diags.Errors(), diags.Warnings())
	}
	read, diags := p.Refresh(hook)
	if len(diags) > 0 || read.Values["secret"] != hook.Values["secret"] || read.Identity["id"] != hook.Values["id"] {
		t.Errorf("a refresh loses the state or the identity, and says %s%s", diags.Errors(), diags.Warnings())
	}
	plan, diags := p.Plan(acctest.Instance{Type: typeName}, endpoint(nil))
	diags.Must(t)
	if _, diags := p.Apply(plan, nil); !strings.Contains(diags.Errors(), "register a webhook endpoint") {
		t.Errorf("applying without a service says %q", diags.Errors())
	}
}
