package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The guide to messages has every title that the code gives to a diagnostic, and no
// title that the code does not know.
func TestGuideHasEveryTitle(t *testing.T) {
	t.Parallel()
	quoted, ours := map[string]bool{}, true
	for line := range strings.SplitSeq(read(t, "templates", "guides", "troubleshooting.md.tmpl"), "\n") {
		if section, isSection := strings.CutPrefix(line, "## "); isSection {
			ours = section != "In Terraform's own words"
		}
		if title, isTitle := strings.CutPrefix(line, "### "); isTitle && ours {
			quoted[title] = true
		}
	}
	code := readCode(t)
	for title, where := range code.titles {
		if !quoted[title] {
			t.Errorf("%s: the guide lacks %q", where, title)
		}
	}
	for title := range quoted {
		for part := range strings.SplitSeq(title, "…") {
			if !strings.Contains(code.literals.String(), strings.ToLower(strings.TrimSpace(part))) {
				t.Errorf("no diagnostic is titled %q: the code lacks %q", title, part)
			}
		}
	}
}

// code is what the provider's source says to people.
type code struct {
	titles   map[string]token.Position // with … for what a title is completed with
	literals strings.Builder           // in lower case, since a title may begin with a part of them
	files    *token.FileSet
}

func readCode(t *testing.T) *code {
	t.Helper()
	c := &code{titles: map[string]token.Position{}, files: token.NewFileSet()}
	err := fs.WalkDir(os.DirFS(".."), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "sandbox" || entry.Name() == "tools"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(c.files, filepath.Join("..", path), nil, parser.SkipObjectResolution)
		if err == nil {
			ast.Inspect(file, c.read)
		}
		return err
	})
	if err != nil || len(c.titles) == 0 {
		t.Fatalf("%d titles: %v", len(c.titles), err)
	}
	return c
}

// titleAt is which argument of a call is the title of a diagnostic.
var titleAt = map[string]int{
	"AddError": 0, "AddWarning": 0, "AddAttributeError": 1, "AddAttributeWarning": 1,
	"NewErrorDiagnostic": 0, "NewWarningDiagnostic": 0, "NewAttributeErrorDiagnostic": 1, "NewAttributeWarningDiagnostic": 1,
	"refuse": 0, "warn": 1, "Rule": 0, // which add one of the above
}

func (c *code) read(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BasicLit:
		c.literals.WriteString(strings.ToLower(text(n)) + "\n")
	case *ast.CallExpr:
		name := ""
		switch called := n.Fun.(type) {
		case *ast.Ident:
			name = called.Name
		case *ast.SelectorExpr:
			name = called.Sel.Name
		}
		if at, isTitled := titleAt[name]; isTitled && len(n.Args) > at {
			title := regexp.MustCompile(`…[… ]*…`).ReplaceAllString(text(n.Args[at]), "…")
			if regexp.MustCompile(`[a-z]`).MatchString(title) { // else it is made elsewhere
				c.titles[title] = c.files.Position(n.Pos())
			}
		}
	}
	return true
}

// text is what is known of an expression before the program runs.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	case *ast.CallExpr:
		if called, ok := e.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Sprintf" {
			return regexp.MustCompile(`%\w`).ReplaceAllString(text(e.Args[0]), "…")
		}
	}
	return "…"
}
