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

// CheckTitles fails the test unless these are the titles of all diagnostics of the package under test. The character …
// stands for text that is added to a title when the program runs.
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
		err := source.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, title := range slices.Sorted(maps.Keys(source.Titles)) {
		if !slices.Contains(titles, title) {
			t.Errorf("%s: the list of titles lacks %q", source.Titles[title], title)
		}
	}
	for _, title := range titles {
		_, found := source.Titles[title]
		if !found {
			t.Errorf("no diagnostic of this package has the title %q", title)
		}
	}
}

// Source is the text in Go files.
type Source struct {
	Titles   map[string]token.Position // titles of diagnostics, with … for text that is added to them
	Literals strings.Builder           // all string literals in lower case, because a title may capitalize a literal

	files *token.FileSet
}

// NewSource returns a Source without files.
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

// titleArgument returns the index of the argument that is the title of a diagnostic, or -1 for other functions.
func titleArgument(function string) int {
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
		s.addTitle(n)
	}
	return true
}

// addTitle adds the title of a diagnostic, if the call has one.
func (s *Source) addTitle(call *ast.CallExpr) {
	argument := titleArgument(functionName(call))
	if argument < 0 || len(call.Args) <= argument {
		return
	}
	title := regexp.MustCompile(`…[… ]*…`).ReplaceAllString(textOf(call.Args[argument]), "…")
	isLiteral := regexp.MustCompile(`[a-z]`).MatchString(title)
	if isLiteral {
		s.Titles[title] = s.files.Position(call.Pos())
	}
}

// functionName returns the name of the called function or method, without its package or receiver.
func functionName(call *ast.CallExpr) string {
	switch called := call.Fun.(type) {
	case *ast.Ident:
		return called.Name
	case *ast.SelectorExpr:
		return called.Sel.Name
	}
	return ""
}

// textOf returns the text of an expression, with … for each part that is known only when the program runs.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.CallExpr:
		if functionName(e) == "Sprintf" {
			return regexp.MustCompile(`%\w`).ReplaceAllString(textOf(e.Args[0]), "…")
		}
	}
	return "…"
}
