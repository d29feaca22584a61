package webhook_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
)

// TestAdoption takes over the configuration of an imported endpoint once.
func TestAdoption(t *testing.T) {
	t.Parallel()
	p := acctest.Start(t).Protocol(nil)
	for _, id := range []string{"card_1", "wh_", "9f2c", " wh_1", "wh_ x", "wh_a\nb", "wh_../../x", "wh_" + strings.Repeat("a", 300)} {
		if _, diags := p.Import(typeName, id, nil); !strings.Contains(diags.Errors(), "wh_…") {
			t.Errorf("importing %q says %q", id, diags.Errors())
		}
	}
	byIdentity, diags := p.Import(typeName, "", object{"id": "wh_9f2c"})
	diags.Must(t)
	for name, c := range map[string]struct {
		config  object
		settled object
		secret  any // in the state then
	}{
		"plain":      {endpoint(nil), nil, nil},
		"secret":     {endpoint(object{"secret": "mine"}), nil, "mine"},
		"write-only": {endpoint(object{"secret_wo": "mine", "secret_wo_version": 3}), nil, nil},
		"unknown":    {endpoint(object{"url": acctest.Unknown, "secret": acctest.Unknown}), object{"url": "https://example.org/", "secret": "made"}, "made"},
	} {
		imported, diags := p.Import(typeName, "wh_9f2c", nil)
		diags.Must(t)
		if !reflect.DeepEqual(imported, byIdentity) || imported.Values["id"] != "wh_9f2c" || imported.Identity["id"] != "wh_9f2c" || imported.Values["url"] != nil {
			t.Errorf("imported %v with identity %v, by its identity %v", imported.Values, imported.Identity, byIdentity)
		}
		if _, diags := p.Plan(imported, nil); !strings.Contains(diags.Warnings(), "wh_9f2c") {
			t.Errorf("destroying an imported endpoint warns %q", diags.Warnings())
		}
		plan, diags := p.Plan(imported, c.config)
		diags.Must(t)
		warnings := diags.Warnings()
		if len(plan.Replaces) > 0 || !strings.Contains(warnings, "wh_9f2c") || !strings.Contains(warnings, "without proof") || strings.Contains(warnings, "mine") {
			t.Errorf("%s: replaces for %v and warns %q", name, plan.Replaces, warnings)
		}
		hook, diags := p.Apply(plan, c.settled)
		diags.Must(t)
		if hook.Values["id"] != "wh_9f2c" || hook.Identity["id"] != "wh_9f2c" || hook.Values["secret"] != c.secret || hook.Values["created_at"] != nil || hook.Values["secret_wo"] != nil {
			t.Errorf("%s: adopted as %v", name, hook.Values)
		}
		hook, diags = p.Refresh(hook)
		diags.Must(t)
		again := endpoint(c.config)
		maps.Copy(again, c.settled)
		if same, diags := p.Plan(hook, again); len(diags) > 0 || len(same.Replaces) > 0 || same.Planned["secret"] != c.secret {
			t.Errorf("%s: the next plan replaces for %v and says %s%s", name, same.Replaces, diags.Errors(), diags.Warnings())
		}
		again["url"] = "https://elsewhere.example.com/"
		if changed, _ := p.Plan(hook, again); len(changed.Replaces) != 1 || changed.Replaces[0] != "url" {
			t.Errorf("%s: a later change replaces for %v", name, changed.Replaces)
		}
	}
}
