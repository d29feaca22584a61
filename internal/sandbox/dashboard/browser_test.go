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

var stopChromium func()

// chromium starts one browser for all tests; nil where there is none.
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

// tab is a page in a real browser, with cookies of its own.
type tab struct {
	t   testing.TB
	ctx context.Context
	s   *sandboxtest.Server

	mu       sync.Mutex
	problems []string // what the console said, and requests to other hosts
	abroad   bool     // on pages of other hosts, what goes wrong is theirs
}

// openTab opens a tab on a sandbox's dashboard, which is at most 1280 pixels wide. At
// the end of the test, the console has to be without errors, unless excused.
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
	if err := chromedp.Do(b.ctx); err != nil { // the tab lives as long as the first context it sees
		t.Fatal(err)
	}
	b.run(chromedp.EmulateViewport(1280, 900))
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // else tabs behind others would be hidden
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.problems {
			t.Error(problem)
		}
	})
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.abroad {
		return
	}
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Scheme != "data" && "http://"+u.Host != b.s.Root() { // data: the browser's own pictures in fields
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

// startTab serves a sandbox, and opens a tab that is logged in to its first account.
func startTab(t testing.TB, options ...func(*sandboxtest.Options)) (*sandboxtest.Server, *tab) {
	t.Helper()
	s := sandboxtest.Start(t, append(options, sandboxtest.WithDashboard)...)
	return s, openTab(t, s).logIn()
}

// leave lets the tab show pages of other hosts, and ends the watch over it.
func (b *tab) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.abroad = true
}

// excuse forgets the problems so far that hold a text, of which there must be one.
func (b *tab) excuse(text string) {
	b.t.Helper()
	found := false
	sandboxtest.Eventually(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		var left []string
		for _, problem := range b.problems {
			if !strings.Contains(problem, text) {
				left = append(left, problem)
			}
		}
		found, b.problems = found || len(left) < len(b.problems), left
		return found
	})
}

// patience is how long anything may take on a slow machine.
const patience = time.Minute

// patiently returns what something comes to that must not fail.
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

func (b *tab) run(action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	patiently(b, "acting", func(ctx context.Context) (int, error) { return 0, chromedp.Do(ctx, action) })
}

// call makes a call of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	patiently(b, command.Method, func(ctx context.Context) (R, error) { return chromedp.Call(ctx, command, params) })
}

// open shows a path.
func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.s.Root() + path))
}

// logIn opens the overview, with the first account's key.
func (b *tab) logIn() *tab {
	b.t.Helper()
	b.open("/login")
	b.fill("#key", b.s.Key)
	b.press("main button").await("location.pathname === '/' && document.querySelector('h1').textContent === 'Overview'")
	return b
}

// evaluate returns what an expression comes to.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	return patiently(b, expression, func(ctx context.Context) (T, error) { return chromedp.Run(ctx, chromedp.Evaluate[T](expression)) })
}

// do runs a script.
func (b *tab) do(script string) { b.t.Helper(); evaluate[chromedp.Void](b, script) }

// await returns when an expression is true, also on a page that is yet to come.
func (b *tab) await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		// A page that goes away amid this is no failure.
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

// shows returns when the page shows a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.await(fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", text))
}

// holds fails the test unless an expression is true at once.
func (b *tab) holds(what, expression string) {
	b.t.Helper()
	if !evaluate[bool](b, expression) {
		b.t.Errorf("it is not so that %s: %s", what, expression)
	}
}

// fill types a text over what a field has. A browser that is short of time loses
// keys; whoever types sees it, and types again.
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
	b.t.Fatalf("%s does not take %q", selector, text)
}

// press clicks on what a selector finds, as a person does.
func (b *tab) press(selector string) *tab {
	b.t.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
	return b
}

// key presses a key on what has the focus.
func (b *tab) key(keys string) *tab {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
	return b
}

// mouse does something at a place of the page.
func (b *tab) mouse(kind input.DispatchMouseEventType, place []float64, clicks int64) {
	b.t.Helper()
	event := input.DispatchMouseEventParams{Type: kind, X: place[0], Y: place[1], ClickCount: clicks}
	if clicks > 0 {
		event.Button = input.MouseButtonLeft
	}
	call(b, input.DispatchMouseEvent, event)
}

// middle is where the middle of an element is.
func (b *tab) middle(selector string) []float64 {
	b.t.Helper()
	return evaluate[[]float64](b, fmt.Sprintf("(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(%q).getBoundingClientRect())", selector))
}

// hostile is what a caller would have a browser run.
const hostile = `"><img src=x onerror=document.title='owned'><script>document.title='owned'</script>`

// populated is a sandbox in which every page has something to show, of any length and
// whatever it looks like. The paths are those that the navigation does not have.
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
	asked := url.QueryEscape(hostile)
	return s, []string{
		"/cards?q=nothing", "/cards?q=" + asked, "/cards/" + card, "/cards/" + frozen, "/cards/" + ended, "/webhooks/" + delivery + "?signature=" + asked,
		"/transactions?state=refunded&q=" + asked, "/transactions/" + settlement, "/requests?outcome=refused", "/runs/1", "/nowhere",
	}
}

// each opens the page to log in, then every other one, with everything on it unfolded.
func (b *tab) each(paths []string, look func(path string)) {
	b.t.Helper()
	b.open("/login")
	look("/login")
	b.logIn()
	pages := evaluate[[]string](b, "[...document.querySelectorAll('.pages a')].map(a => a.pathname)")
	if len(pages) < 2 {
		b.t.Fatalf("the navigation has just %v", pages)
	}
	for _, path := range append(pages, paths...) {
		b.open(path)
		b.await("true")
		b.do("document.querySelectorAll('details').forEach(d => { d.open = true })")
		look(path)
		if path == "/nowhere" { // which is asked for again as time passes
			b.excuse("404")
		}
	}
}

// theme has the page shown in the light or the dark theme.
func (b *tab) theme(name string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}
