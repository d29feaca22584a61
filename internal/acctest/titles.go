package acctest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CheckTitles fails the test unless these are the titles of all diagnostics of the package in whose folder it runs. The
// character … stands for what a title is completed with.
func CheckTitles(t *testing.T, titles []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	source := NewSource()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if err := source.Parse(file); err != nil {
			t.Fatal(err)
		}
	}
	for _, title := range slices.Sorted(maps.Keys(source.Titles)) {
		if !slices.Contains(titles, title) {
			t.Errorf("%s: the table of titles lacks %q", source.Titles[title], title)
		}
	}
	for _, title := range titles {
		if _, found := source.Titles[title]; !found {
			t.Errorf("no diagnostic of this package has the title %q", title)
		}
	}
}

// Source is what Go files say to people.
type Source struct {
	Titles   map[string]token.Position // of diagnostics, with … for what a title is completed with
	Literals strings.Builder           // every text, in lower case, since a title may begin with a part of it

	files *token.FileSet
}

// NewSource returns the source of no file yet.
func NewSource() *Source {
	return &Source{Titles: map[string]token.Position{}, files: token.NewFileSet()}
}

// Parse adds a file.
func (s *Source) Parse(path string) error {
	file, err := parser.ParseFile(s.files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, s.inspect)
	return nil
}

// titleAt returns which argument of a call to a function is the title of a diagnostic, or -1.
func titleAt(function string) int {
	switch function {
	case "AddError", "AddWarning", "NewErrorDiagnostic", "NewWarningDiagnostic":
		return 0
	case "AddAttributeError", "AddAttributeWarning", "NewAttributeErrorDiagnostic", "NewAttributeWarningDiagnostic":
		return 1
	case "refuse", "refusePath", "Rule":
		return 0
	case "warn":
		return 1
	}
	return -1
}

func (s *Source) inspect(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BasicLit:
		s.Literals.WriteString(strings.ToLower(textOf(n)) + "\n")
	case *ast.CallExpr:
		name := ""
		switch called := n.Fun.(type) {
		case *ast.Ident:
			name = called.Name
		case *ast.SelectorExpr:
			name = called.Sel.Name
		}
		if at := titleAt(name); at >= 0 && len(n.Args) > at {
			title := regexp.MustCompile(`…[… ]*…`).ReplaceAllString(textOf(n.Args[at]), "…")
			if regexp.MustCompile(`[a-z]`).MatchString(title) { // else it is made elsewhere
				s.Titles[title] = s.files.Position(n.Pos())
			}
		}
	}
	return true
}

// textOf is what is known of an expression before the program runs.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.CallExpr:
		if called, ok := e.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Sprintf" {
			return regexp.MustCompile(`%\w`).ReplaceAllString(textOf(e.Args[0]), "…")
		}
	}
	return "…"
}
