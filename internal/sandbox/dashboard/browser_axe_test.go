package dashboard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe is the accessibility checker of the npm package axe-core: that of VCARD_AXE, or
// of npm's global folder. The test is skipped where there is none.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VCARD_AXE")
	if path == "" {
		root, err := exec.CommandContext(t.Context(), "npm", "root", "--global").Output()
		if err != nil {
			t.Skip("there is no npm on PATH, and VCARD_AXE names no axe.min.js")
		}
		path = filepath.Join(strings.TrimSpace(string(root)), "axe-core", "axe.min.js")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("there is no axe-core (npm install --global axe-core): %v", err)
	}
	return string(script)
}

// Axe finds nothing to say about any page, in either theme.
func TestBrowserAxe(t *testing.T) {
	t.Parallel()
	script := axe(t)
	s, paths := populated(t)
	b := openTab(t, s)
	b.each(paths, func(path string) {
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			evaluate[chromedp.Void](b, script+"; window.found = undefined; axe.run().then(r => { window.found = r.violations"+
				".map(v => v.id + ' (' + v.help + '): ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')) }); undefined")
			b.await("window.found !== undefined")
			for _, violation := range evaluate[[]string](b, "window.found") {
				t.Errorf("%s, %s: %s", path, theme, violation)
			}
		}
	})
}
