// Package doctest_test reads the documentation as its readers do: it runs the blocks of a page and
// follows the links.
package doctest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"go.yaml.in/yaml/v3"
)

// Page is a Markdown file of the repository.
type Page struct {
	Path    string // below the root of the repository, with slashes
	Blocks  []Block
	Links   []Link
	Anchors map[string]bool // what a link can lead to within the page

	problems []error // with the page itself
}

// Block is what stands between two fences.
type Block struct {
	Line     int    // of the opening fence
	Language string // as the fence says
	Text     string
	File     string // what the block is written to, from the comment in its first line
	Reason   string // why the block is not run, from the comment before it
	Needs    string // a program, or a version of Terraform, without which the block is left out
}

// Link leads from a page to a file, a heading or another site.
type Link struct {
	Line   int
	Target string
}

var (
	fence    = regexp.MustCompile("^( *)```(\\S*)$")
	marker   = regexp.MustCompile(`^ *<!-- (?:(needs an account|not run: .+)|needs ([a-z0-9]+|(?:Terraform|OpenTofu) [0-9.]+)) -->$`)
	nearMark = regexp.MustCompile(`^ *<!-- *(?i:needs|not run)`)
	fileName = regexp.MustCompile(`^(?:#|//) ([\w./-]+\.\w+)$`)
	heading  = regexp.MustCompile(`^#{1,6} +(.*)$`)
	htmlID   = regexp.MustCompile(`<a id="([^"]+)">`)
	codeSpan = regexp.MustCompile("`[^`]*`")
	linkEnd  = regexp.MustCompile(`\]\(([^)]*)\)`)
	picture  = regexp.MustCompile(`<(?:img|source) [^>]*\bsrc(?:set)?="([^"]*)"`)
	notSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Parse reads the content of a page.
func Parse(path, content string) Page {
	p := Page{Path: path, Anchors: map[string]bool{}}
	var open *Block
	var mark []string // the comment that the next fence belongs to
	indent := ""
	for i, line := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open != nil && found != nil && found[2] == "":
			p.Blocks = append(p.Blocks, named(*open))
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case found != nil:
			indent = found[1]
			open = &Block{Line: i + 1, Language: found[2]}
			if mark != nil {
				open.Reason, open.Needs = mark[1], mark[2]
			}
			mark = nil
		case line == "": // as may stand between a comment and its block
		default:
			if mark != nil {
				p.problem(i+1, "the comment before this marks no block")
			}
			if mark = marker.FindStringSubmatch(line); mark == nil && nearMark.MatchString(line) {
				p.problem(i+1, "a comment that marks a block says one of: needs an account; not run: and why; needs and a program, or Terraform or OpenTofu and a version")
			}
			p.text(i+1, line)
		}
	}
	if open != nil {
		p.problem(open.Line, "the block does not end")
	}
	return p
}

// named takes the name of the file from the first line of a block.
func named(b Block) Block {
	first, _, _ := strings.Cut(b.Text, "\n")
	if name := fileName.FindStringSubmatch(first); name != nil && !b.isShell() && b.Language != "text" {
		b.File = name[1]
	}
	return b
}

// text reads a line that is in no block.
func (p *Page) text(number int, line string) {
	if title := heading.FindStringSubmatch(line); title != nil {
		p.addAnchor(slug(title[1]))
	}
	for _, id := range htmlID.FindAllStringSubmatch(line, -1) {
		p.Anchors[id[1]] = true
	}
	line = codeSpan.ReplaceAllString(line, "")
	for _, target := range append(linkEnd.FindAllStringSubmatch(line, -1), picture.FindAllStringSubmatch(line, -1)...) {
		p.Links = append(p.Links, Link{number, target[1]})
	}
}

// addAnchor numbers the headings that have the same text.
func (p *Page) addAnchor(name string) {
	unique := name
	for n := 1; p.Anchors[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	p.Anchors[unique] = true
}

// slug makes an anchor of a heading as GitHub and the registry do.
func slug(title string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
}

func (b Block) isShell() bool { return b.Language == "sh" || b.Language == "shell" }

func (p *Page) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, p.errorAt(line, format, args...))
}

func (p *Page) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", p.Path, line, fmt.Errorf(format, args...))
}

// Check returns what is wrong with the blocks of a page as they stand, each
// problem with its line. The shells are those that shell blocks are read by.
func (p Page) Check(ctx context.Context, shells ...string) error {
	problems := slices.Clone(p.problems)
	guarded := false // by a block before
	for _, b := range p.Blocks {
		guarded = guarded || b.isShell() && guard.MatchString(b.Text)
		err := b.check(ctx, shells)
		if err == nil && b.isShell() && !guarded && pipes(b.Text) {
			err = errUnguarded
		}
		if err != nil {
			problems = append(problems, p.errorAt(b.Line, "%w", err))
		}
	}
	return errors.Join(problems...)
}

func (b Block) check(ctx context.Context, shells []string) error {
	if b.File != "" && !filepath.IsLocal(b.File) {
		return fmt.Errorf("%s is not in the page's folder", b.File)
	}
	switch b.Language {
	case "terraform", "hcl":
		return checkHCL(b.Text)
	case "sh":
		if line := comment(b.Text); line != "" {
			return fmt.Errorf("who pastes %q into zsh gives the comment to the command: write it before the block", line)
		}
		return checkShell(ctx, b.Text, shells)
	case "shell": // a script among the examples
		return checkShell(ctx, b.Text, shells)
	case "yaml":
		return checkYAML(ctx, b.Text)
	case "json":
		var value any
		return json.Unmarshal([]byte(b.Text), &value)
	case "go":
		_, err := parser.ParseFile(token.NewFileSet(), b.File, b.Text, 0)
		return err
	case "python", "javascript":
		if b.File == "" {
			return errors.New("names no file in its first line, and so nothing runs it")
		}
		return nil
	case "text":
		return nil
	default:
		return fmt.Errorf("the language is %q; write text for what is neither run nor read by a test", b.Language)
	}
}

func checkHCL(text string) error {
	if _, diags := hclsyntax.ParseConfig([]byte(text), "", hcl.InitialPos); diags.HasErrors() {
		return diags
	}
	if formatted := string(hclwrite.Format([]byte(text))); formatted != text {
		return fmt.Errorf("is not in the form of terraform fmt:\n%s", formatted)
	}
	return nil
}

var (
	quoted       = regexp.MustCompile(`'[^']*'|"(?:\\.|[^"\\])*"`)
	commentSign  = regexp.MustCompile(`(^|\s)#`)
	hereDocument = regexp.MustCompile(`<<-?['"]?(\w+)`)
)

var (
	guard        = regexp.MustCompile(`set .*-[a-z]*o pipefail`)
	githubsGuard = regexp.MustCompile(`shell: bash\b`) // which has it set, unlike what is there by default
	singleQuoted = regexp.MustCompile(`'[^']*'`)
	errUnguarded = errors.New("a pipe ends well where what feeds it failed: write set -o pipefail before")
)

// pipes reports whether a command is fed by another.
func pipes(text string) bool {
	return strings.Contains(strings.ReplaceAll(singleQuoted.ReplaceAllString(text, ""), "||", ""), "|")
}

// comment returns the first line with a comment that is not in a here-document.
func comment(text string) string {
	end := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch opened := hereDocument.FindStringSubmatch(line); {
		case end != "":
			if line == end {
				end = ""
			}
		case commentSign.MatchString(quoted.ReplaceAllString(line, "")):
			return line
		case opened != nil:
			end = opened[1]
		}
	}
	return ""
}

func checkShell(ctx context.Context, text string, shells []string) error {
	for _, shell := range shells {
		if output, err := exec.CommandContext(ctx, shell, "-n", "-c", text).CombinedOutput(); err != nil {
			return fmt.Errorf("%s does not understand it: %w\n%s", shell, err, output)
		}
	}
	return nil
}

// checkYAML also checks the commands of a pipeline's steps, which runners give to bash.
func checkYAML(ctx context.Context, text string) error {
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return err
	}
	for _, command := range commands(document, false) {
		if err := checkShell(ctx, command, []string{"bash"}); err != nil {
			return fmt.Errorf("%q: %w", command, err)
		}
		if pipes(command) && !guard.MatchString(command) && !githubsGuard.MatchString(text) {
			return fmt.Errorf("%q: %w", command, errUnguarded)
		}
	}
	return nil
}

// commands returns the texts below the keys that hold commands on GitHub and GitLab,
// where one shell runs all of a list.
func commands(node any, isCommand bool) []string {
	var all []string
	switch n := node.(type) {
	case string:
		if isCommand {
			return []string{n}
		}
	case []any:
		for _, item := range n {
			all = append(all, commands(item, isCommand)...)
		}
		if isCommand {
			all = []string{strings.Join(all, "\n")}
		}
	case map[string]any:
		for key, value := range n {
			all = append(all, commands(value, key == "run" || key == "script" || strings.HasSuffix(key, "_script"))...)
		}
	}
	return all
}
