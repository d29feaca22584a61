package dashboard_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Run(m, func() {
		if stopChromium != nil {
			stopChromium()
		}
	})
}

// stopChromium stops the browser that chromium has started. It is nil if there is none.
var stopChromium func()

// chromium starts one browser for all tests and returns its context, or nil if no chromium is installed.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, nil
	}
	profile, err := os.MkdirTemp("", "vcard-chromium-")
	if err != nil {
		return nil, err
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.test 127.0.0.1"))
	allocator, end := chromedp.NewExecAllocator(context.Background(), flags...)
	browser, cancel := chromedp.NewContext(allocator)
	stopChromium = func() {
		cancel()
		end()
		_ = os.RemoveAll(profile)
	}
	return browser, chromedp.Do(browser)
})

// tab is a tab of a real browser, with its own cookies.
type tab struct {
	t   testing.TB
	ctx context.Context
	s   *sandboxtest.Server

	mu       sync.Mutex
	problems []string // errors of the console and of scripts, and requests to other hosts
	ignored  bool     // whether new problems are ignored
}

// openTab opens a tab for a sandbox's dashboard, 1280 pixels wide. If there is a problem that excuse has not removed,
// the test fails at its end. Without a browser, the test is skipped.
func openTab(t testing.TB, s *sandboxtest.Server) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN: make test-all runs what needs a browser")
	}
	browser, err := chromium()
	if browser == nil {
		t.Skip("there is no chromium on PATH (Debian: apt-get install chromium)")
	}
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, s: s}
	var cancel context.CancelFunc
	b.ctx, cancel = chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	if err := chromedp.Do(b.ctx); err != nil { // the tab lives as long as the context of the first call
		t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(1280, 900))
	call(b, network.Enable, network.EnableParams{})
	// Without the emulation, a tab behind another one would be hidden.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.problems {
			t.Error(problem)
		}
	})
	return b
}

// listen receives the events of the browser and notes problems.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ignored {
		return
	}
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err == nil && u.Scheme == "data" { // an image of the browser's own, for example in a field
			return
		}
		if err != nil || "http://"+u.Host != b.s.Root() {
			b.problems = append(b.problems, "a request to another host: "+e.Request.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.problems = append(b.problems, fmt.Sprintf("the console says %s (%s)", e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "a script failed: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("a script wrote to the console: %v", e.Type))
	}
}

// startTab serves a sandbox and opens a tab that is logged in to the first account.
func startTab(t testing.TB, options ...func(*sandboxtest.Options)) (*sandboxtest.Server, *tab) {
	t.Helper()
	s := sandboxtest.Start(t, append(options, sandboxtest.WithDashboard)...)
	return s, openTab(t, s).logIn()
}

// leave ignores problems from now on, because the tab leaves the dashboard or the server stops.
func (b *tab) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ignored = true
}

// excuse waits for a problem that contains a text, and removes all such problems.
func (b *tab) excuse(text string) {
	b.t.Helper()
	sandboxtest.Eventually(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		var left []string
		for _, problem := range b.problems {
			if !strings.Contains(problem, text) {
				left = append(left, problem)
			}
		}
		found := len(left) < len(b.problems)
		b.problems = left
		return found
	})
}

// patience is how long an operation of the browser may take on a slow machine.
const patience = time.Minute

// patiently returns the result of an operation of the browser. It fails the test if the operation fails.
func patiently[T any](b *tab, what string, do func(context.Context) (T, error)) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := do(ctx)
	if err != nil {
		b.t.Fatalf("the browser: %s: %v", what, err)
	}
	return value
}

// run performs an action.
func (b *tab) run(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	patiently(b, "acting", func(ctx context.Context) (int, error) { return 0, chromedp.Do(ctx, action) })
}

// call makes a call of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	patiently(b, command.Method, func(ctx context.Context) (R, error) { return chromedp.Call(ctx, command, params) })
}

// open opens a page of the dashboard.
func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.s.Root() + path))
}

// logIn logs in with the first account's key, which opens the overview.
func (b *tab) logIn() *tab {
	b.t.Helper()
	b.open("/login")
	b.fill("#key", b.s.Key)
	b.press("main button").await("location.pathname === '/' && document.querySelector('h1').textContent === 'Overview'")
	return b
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	return patiently(b, expression, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, chromedp.Evaluate[T](expression)) })
}

// do runs a script.
func (b *tab) do(script string) { b.t.Helper(); evaluate[chromedp.Void](b, script) }

// await waits until an expression is true. The tab may load another page meanwhile.
func (b *tab) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		// The evaluation fails while the tab changes to another page.
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("document.readyState === 'complete' && Boolean("+expression+")"))
		if err == nil && holds {
			return
		}
		if ctx.Err() != nil {
			b.t.Fatalf("never true: %s (%v) on\n%s", expression, err, evaluate[string](b, "location.href + '\\n' + document.body.innerText"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// shows waits until the page shows a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", text))
}

// holds fails the test unless an expression is true now.
func (b *tab) holds(what, expression string) {
	b.t.Helper()
	if !evaluate[bool](b, expression) {
		b.t.Errorf("not true: %s: %s", what, expression)
	}
}

// fill replaces the text of a field by typing. A slow browser may lose keys, so fill tries again if the text differs.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	const tries = 3
	for range tries {
		b.do(fmt.Sprintf("document.querySelector(%q).value = ''", selector))
		b.run(chromedp.SendKeys(chromedp.CSS(selector), text))
		if evaluate[string](b, fmt.Sprintf("document.querySelector(%q).value", selector)) == text {
			return
		}
	}
	b.t.Fatalf("%s does not have the text %q after %d attempts", selector, text, tries)
}

// press clicks on the element that a selector finds.
func (b *tab) press(selector string) *tab {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
	return b
}

// key presses keys. The element that has the focus receives them.
func (b *tab) key(keys string) *tab {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
	return b
}

// mouse sends a mouse event at a place of the page, as x and y. For a click, clicks is its number in a series such as a
// double click, counted from 1. For a movement, it is 0.
func (b *tab) mouse(kind input.DispatchMouseEventType, place []float64, clicks int64) {
	b.t.Helper()
	event := input.DispatchMouseEventParams{Type: kind, X: place[0], Y: place[1], ClickCount: clicks}
	if clicks > 0 {
		event.Button = input.MouseButtonLeft
	}
	call(b, input.DispatchMouseEvent, event)
}

// middle returns the middle of an element, as x and y.
func (b *tab) middle(selector string) []float64 {
	b.t.Helper()
	return evaluate[[]float64](b, fmt.Sprintf("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(%q).getBoundingClientRect())", selector))
}

// hostile is a text that changes the title of a page if the page does not escape it.
const hostile = `"><img src=x onerror=document.title='owned'><script>document.title='owned'</script>`

// populated returns a sandbox in which every page has content, including long and hostile texts. The paths are those of
// pages to which the navigation has no link.
func populated(t testing.TB) (s *sandboxtest.Server, paths []string) {
	t.Helper()
	inbox := sandboxtest.NewReceiver(t, nil)
	s = sandboxtest.Start(t, inbox.Trusted, sandboxtest.WithDashboard)
	s.Post("/webhooks", `{"url":"`+inbox.URL+"/"+strings.Repeat("long", 100)+`","events":["*"]}`).OK(201)
	card := s.Issue("100", `"label":"A label of sixty-four characters, the longest that there can be."`, `"auto_freeze_at":10`,
		`"metadata":{"team":"ads","a name without any space that goes on and on and on":"`+strings.Repeat("long", 40)+`"}`)
	settlement := s.Settle(s.Authorize(card, "40", "7311").Transaction(), "38.50").Transaction()
	s.Refund(settlement, "10").OK(201)
	s.Authorize(card, "12", "7311", `"fee":0.5`).OK(201)
	s.Authorize(card, "1000", "7311").OK(201)
	merchant := map[string]string{"name": hostile, "mcc": "7311"}
	s.Post("/_sandbox/authorizations", map[string]any{"card_id": card, "amount": 5, "merchant": merchant}).OK(201)
	for _, merchant := range []string{strings.Repeat("Merchant", 16), hostile} {
		s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": merchant, "amount": 5}).OK(201)
	}
	s.Post("/_sandbox/deposits", `{"currency":"btc","amount":500}`).OK(201)
	frozen := s.Post("/cards", map[string]any{
		"bin_id": sandboxtest.BIN, "amount": 50, "label": hostile[:64], "metadata": map[string]string{hostile: hostile},
	}, sandboxtest.IdempotencyKey, hostile).OK(201).Text("id")
	s.Freeze(frozen)
	ended := s.Issue("999", `"label":"`+strings.Repeat("W", 64)+`"`)
	s.Terminate(ended)
	s.Get("/cards/"+strings.Repeat("long", 40)+"?"+strings.Repeat("q", 80)).Refused(404, "not_found", "")
	for _, body := range []string{strings.Repeat("long", 40), hostile} {
		s.Fault(map[string]any{"method": "GET", "path": "/cards/" + strings.Repeat("long", 40), "then": map[string]any{"status": 503, "body": body}})
	}
	s.Quirks(map[string]any{"idempotency": "conflict"})
	inbox.Wait(1)
	delivery, _ := s.Get("/_sandbox/deliveries").OK(200).Data()[0]["id"].(string)
	search := url.QueryEscape(hostile)
	return s, []string{
		"/cards?q=nothing", "/cards?q=" + search, "/cards/" + card, "/cards/" + frozen, "/cards/" + ended, "/webhooks/" + delivery + "?signature=" + search,
		"/transactions?state=refunded&q=" + search, "/transactions/" + settlement, "/requests?outcome=refused", "/runs/1", "/nowhere",
	}
}

// each calls look for the login page, the pages of the navigation and the given ones, with all sections open.
func (b *tab) each(paths []string, look func(path string)) {
	b.t.Helper()
	b.open("/login")
	look("/login")
	b.logIn()
	pages := evaluate[[]string](b, "[...document.querySelectorAll('.pages a')].map(a => a.pathname)")
	if len(pages) < 2 {
		b.t.Fatalf("the navigation has only the pages %v", pages)
	}
	for _, path := range append(pages, paths...) {
		b.open(path)
		b.await("true")
		b.do("document.querySelectorAll('details').forEach(d => { d.open = true })")
		look(path)
		if path == "/nowhere" { // this page does not exist
			b.excuse("404")
		}
	}
}

// theme shows the page in the light or the dark theme, without animations.
func (b *tab) theme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}
