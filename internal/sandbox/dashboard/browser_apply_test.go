//go:build unix

package dashboard_test

import (
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// What a real apply does shows while it runs, without a reload.
func TestBrowserWatchesAnApply(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	w := acctest.NewWorkspace(t)
	b := openTab(t, s).logIn()
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	w.Write("main.tf", `terraform {
  required_providers {
    vcard = { source = "vcard/vcard" }
  }
}

resource "vcard_card" "campaign" {
  for_each = toset(["search", "social", "display"])
  bin_id   = "bin_ads_visa_us"
  amount   = 120
  label    = each.key
}
`)
	const mark = "window.marked = true"
	evaluate[bool](b, mark)
	w.Must("apply", "-auto-approve", "-no-color")
	b.awaitText("9,637.00")
	b.await("['search', 'social', 'display'].every(label => document.querySelector('main').innerText.includes(label))")
	b.open("/cards")
	evaluate[bool](b, mark)
	w.Must("destroy", "-auto-approve", "-no-color")
	b.await("document.querySelectorAll('.badge.terminated').length === 3")
	if !evaluate[bool](b, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}
