// Package doctest reads the documentation as its readers do: it runs the blocks
// of a page and follows the links. Only tests import it.
package doctest

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
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

// Read reads a page of the repository.
func Read(repository fs.FS, path string) (Page, error) {
	content, err := fs.ReadFile(repository, path)
	if err != nil {
		return Page{}, err
	}
	return Parse(path, string(content)), nil
}

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
