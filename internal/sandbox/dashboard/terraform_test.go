//go:build unix

package dashboard_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	goldmarkhtml "github.com/yuin/goldmark/renderer/html"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// snippet returns the text of the copy button whose text starts with the given regular expression.
func (p seen) snippet(start string) string {
	p.t.Helper()
	text := p.find(`(?s)data-copy="(` + start + `[^"]*)"`)
	if text == "" {
		p.t.Fatalf("%s has no text to copy that starts with %q:\n%s", p.Request.URL, start, p.text)
	}
	return text
}

// The resource and the import block on the page of a card import the card, whatever its label and metadata contain. The
// card does not change.
func TestConfigurationImportsCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	w := acctest.NewWorkspace(t)
	w.Env = append(w.Env, "VCARD_BASE_URL="+s.URL, "VCARD_API_KEY="+s.Key)
	config := acctest.Required
	for _, card := range []string{
		s.Issue("100.50", `"label":"Search ads: \"${x}\" %{y} \\ 2026"`, `"spending_limit":300`, `"allowed_categories":["advertising","software"]`,
			`"auto_freeze_at":10`, `"metadata":{"team":"ads","a key":"$${z}\n\t"}`),
		s.Issue("50", `"label":"2026"`), s.Issue("50"), s.Issue("60", `"label":"بطاقة"`),
	} {
		s.Post("/cards/"+card+"/fund", `{"amount":5}`).OK(200)
		page := b.get("/cards/" + card)
		config += strings.Replace(page.snippet("resource "), `"vcard_card" "card"`, fmt.Sprintf(`"vcard_card" %q`, card), 1) +
			strings.Replace(page.snippet("import "), "vcard_card.card\n", "vcard_card."+card+"\n", 1)
	}
	frozen := s.Issue("50", `"label":"paused"`)
	s.Freeze(frozen)
	config += b.get("/cards/"+frozen).snippet("resource ") + b.get("/cards/"+frozen).snippet("import ")
	sandboxtest.Equal(t, "labels", strings.Count(config, "\n  label "), 4)
	w.Write("main.tf", config)
	out := w.Must("apply", "-auto-approve", "-no-color")
	unchanged := strings.Contains(out, "5 imported, 0 added, 0 changed, 0 destroyed")
	changed := strings.Contains(out, "5 imported, 0 added, 5 changed, 0 destroyed")
	if !unchanged && !changed {
		t.Errorf("the apply did not import the cards: %s", out)
	}
	w.Must("plan", "-detailed-exitcode", "-no-color")
	sandboxtest.Equal(t, "the wallet", s.Wallet().String(), "9664.50")
	s.Terminate(frozen)
	b.get("/cards/" + frozen).has("resource &#34;vcard_card&#34;").lacks("import {")
}

// The overview of an account without cards has all that a user needs to issue a first card.
func TestFirstPageIssuesAFirstCard(t *testing.T) {
	t.Parallel()
	s, b := start(t)
	page := b.get("/").has("export VCARD_API_KEY=…", "10,000.00").lacks(s.Key, "On cards", "Spent this month")
	environment := b.post("/", "show-key").snippet("export ")
	b.get("/").lacks(s.Key)
	w := acctest.NewWorkspace(t)
	for line := range strings.Lines(environment) {
		w.Env = append(w.Env, strings.TrimPrefix(strings.TrimSpace(line), "export "))
	}
	w.Write("main.tf", page.snippet("terraform "))
	w.Must("apply", "-auto-approve", "-no-color")
	sandboxtest.Equal(t, "cards", len(s.LiveCards()), 1)
	b.get("/").has("On cards", "Spent this month").lacks("main.tf")
}

var pictures = flag.String("pictures", "", "folder to write the pictures of the README and the guides to")

// The plan, the statement and the dashboard have what the pictures of the README show. With -pictures, the test takes
// the pictures.
func TestPictures(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	w := acctest.NewWorkspace(t)
	p := sandboxtest.StartProcess(t, nil, "--data", ":memory:", "--seed", root+"/examples/world.yaml")
	w.Env = append(w.Env, "VCARD_BASE_URL="+p.URL, "VCARD_API_KEY="+p.Key)
	w.Write("fleet.tf", string(sandboxtest.Must(os.ReadFile(root+"/internal/demo/fleet.tf"))))
	w.Write("main.tf", acctest.Required)
	cards := map[any]string{}
	for _, card := range p.Get("/cards").Data() {
		cards[card["label"]] = card["id"].(string)
	}
	for _, label := range []string{"search-ads", "display-ads"} {
		w.Must("import", "-no-color", fmt.Sprintf("vcard_card.fleet[%q]", label), cards[label])
	}
	w.Write("next.auto.tfvars", "fleet = {\n  search-ads = {}\n  video-ads  = { amount = 120 }\n}\n")
	plan := w.Must("plan", "-out=plan")
	_, topUp, _ := strings.Cut(plan, "\x1b[1m  # vcard_card.fleet[\"search-ads\"]")
	topUp, rest, found := strings.Cut(topUp, "\x1b[1m  #")
	_, sum, planned := strings.Cut(rest, "\x1b[1mPlan:")
	if !found || !planned || !strings.Contains(topUp, "56.05") || !strings.Contains(topUp, "193.95") {
		t.Fatalf("the plan has no top-up:\n%s", plan)
	}
	sum, _, _ = strings.Cut(sum, "\n")
	save(t, "plan.svg", terminal("$ terraform plan\n\n\x1b[1m  # vcard_card.fleet[\"search-ads\"]"+topUp+"\x1b[1mPlan:"+sum))

	statement := exec.CommandContext(t.Context(), sandboxtest.Vcard(t), "statement", "--format=markdown", "-")
	statement.Stdin = strings.NewReader(w.Must("show", "-json", "plan"))
	markdown, err := statement.Output()
	if err != nil || !strings.Contains(string(markdown), "The wallet pays about 222.00 USD.") {
		t.Errorf("%v: the statement is\n%s", err, markdown)
	}

	w.Must("apply", "-no-color", "plan")
	p.Get("/_sandbox/requests").OK(200) // writes the recorded requests to the file
	b := openTab(t, &sandboxtest.Server{Client: p.Client}).logIn()
	b.await("document.querySelector('#runs tbody tr').innerText.includes('313.95')")
	b.await("document.querySelector('.plot') !== null")
	if *pictures == "" {
		return
	}
	b.picture("dashboard", 1200, 1020)
	var comment bytes.Buffer // the statement as a comment on a pull request
	converter := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithRendererOptions(goldmarkhtml.WithUnsafe()))
	sandboxtest.Must(0, converter.Convert(markdown, &comment))
	page := bytes.Replace(sandboxtest.Must(os.ReadFile("testdata/comment.html")), []byte("<!-- the comment -->"), comment.Bytes(), 1)
	b.run(chromedp.Navigate("data:text/html;base64," + base64.StdEncoding.EncodeToString(page)))
	b.picture("statement", 860, evaluate[int64](b, "document.querySelector('main').offsetHeight"))
}

// picture takes pictures of the page in the light and the dark theme.
func (b *tab) picture(name string, width, height int64) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		taken := sandboxtest.Must(chromedp.Run(b.ctx, chromedp.CaptureScreenshot()))
		var small bytes.Buffer
		picture := sandboxtest.Must(png.Decode(bytes.NewReader(taken)))
		sandboxtest.Must(0, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, picture))
		save(b.t, name+"-"+theme+".png", small.Bytes())
	}
}

// save writes a picture if the flag pictures is set.
func save(t testing.TB, name string, content []byte) {
	t.Helper()
	const maxBytes = 150_000
	if *pictures == "" {
		return
	}
	if len(content) > maxBytes {
		t.Errorf("%s has %d bytes, more than %d", name, len(content), maxBytes)
	}
	sandboxtest.Must(0, os.WriteFile(filepath.Join(*pictures, name), content, 0o644))
}

// escape matches a style of a terminal, and styles are the attributes of SVG for its codes.
var (
	escape = regexp.MustCompile(`\x1b\[(\d*)m`)
	styles = map[string]string{"1": ` font-weight="bold"`, "31": ` fill="#ff7b72"`, "32": ` fill="#7ee787"`, "33": ` fill="#e3b341"`}
)

// terminal returns a picture, as SVG, of the output of a program in a terminal.
func terminal(text string) []byte {
	const char, height, margin = 8.43, 20, 16
	lines := strings.Split(text, "\n")
	widest := 0
	var rows strings.Builder
	for i, line := range lines {
		widest = max(widest, len([]rune(escape.ReplaceAllString(line, ""))))
		fmt.Fprintf(&rows, `<text x="%d" y="%d">`, margin, margin+height*i+14)
		for part := range strings.SplitSeq("0m"+line, "\x1b[") {
			code, shown, _ := strings.Cut(part, "m")
			shown = strings.ReplaceAll(html.EscapeString(shown), " ", "\u00a0")
			if shown != "" && styles[code] != "" {
				shown = "<tspan" + styles[code] + ">" + shown + "</tspan>"
			}
			rows.WriteString(shown)
		}
		rows.WriteString("</text>\n")
	}
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" fill="#e6edf3" font-size="14" font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace">
<rect width="100%%" height="100%%" rx="8" fill="#161b22"/>
%s</svg>
`, int(float64(widest)*char)+2*margin, height*len(lines)+2*margin, &rows)
}
