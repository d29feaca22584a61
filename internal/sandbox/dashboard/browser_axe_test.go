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
// of npm's global folder; empty where there is none.
func axe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("VCARD_AXE")
	if path == "" {
		root, err := exec.CommandContext(t.Context(), "npm", "root", "--global").Output()
		if err != nil {
			t.Log("NOT RUN: axe; there is no npm on PATH, and VCARD_AXE names no axe.min.js")
			return ""
		}
		path = filepath.Join(strings.TrimSpace(string(root)), "axe-core", "axe.min.js")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Logf("NOT RUN: axe; there is no axe-core (npm install --global axe-core): %v", err)
	}
	return string(script)
}

// Every page fits into a narrow window, also where a text cannot be broken, and into
// 1280 pixels at 200 %. In either theme, every text is to be read by WCAG 2 AA, and
// axe finds nothing to say.
func TestBrowserEveryPage(t *testing.T) {
	t.Parallel()
	script := axe(t)
	s, paths := populated(t)
	b := openTab(t, s)
	b.each(paths, func(path string) {
		for _, theme := range []string{"light", "dark"} {
			b.theme(theme)
			for _, unreadable := range evaluate[[]string](b, unreadableTexts) {
				t.Errorf("%s, %s: %s", path, theme, unreadable)
			}
			if script == "" {
				continue
			}
			evaluate[chromedp.Void](b, script+"; window.found = undefined; axe.run().then(r => { window.found = r.violations"+
				".map(v => v.id + ' (' + v.help + '): ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')) }); undefined")
			b.await("window.found !== undefined")
			for _, violation := range evaluate[[]string](b, "window.found") {
				t.Errorf("%s, %s: %s", path, theme, violation)
			}
		}
		for _, width := range []int64{360, 640, 710, 800, 950} {
			b.run(chromedp.EmulateViewport(width, 740))
			wide := evaluate[[]string](b, `[...document.querySelectorAll('body *')]
				.filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest('.unseen, thead, svg'))
				.map(e => e.tagName + ' ' + e.className + ' ' + e.getBoundingClientRect().right).slice(0, 5)`)
			if len(wide) > 0 || evaluate[int64](b, "document.scrollingElement.scrollWidth") > width {
				t.Errorf("%s is wider than %d pixels: %v", path, width, wide)
			}
		}
		b.run(chromedp.EmulateViewport(1280, 900))
	})
}
