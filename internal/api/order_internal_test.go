package api

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// onlyOurs leaves out what other packages declare.
type onlyOurs struct{}

func (onlyOurs) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// The files use each other in the order in which the package's comment names them.
func TestFilesUseThoseAfterThem(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	nameOf := func(at token.Pos) string {
		return strings.TrimSuffix(filepath.Base(set.Position(at).Filename), ".go")
	}
	var files []*ast.File
	order, here := []string{"doc"}, []string{}
	paths, _ := filepath.Glob("*.go")
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files, here = append(files, file), append(here, nameOf(file.Pos()))
		for line := range strings.Lines(file.Doc.Text()) {
			if strings.HasPrefix(line, "\t") {
				order = append(order, strings.Fields(line)...)
			}
		}
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, here) {
		t.Fatalf("the order names %q, the package has %q", sorted, here)
	}
	used := types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, _ := (&types.Config{Importer: onlyOurs{}, Error: func(error) {}}).Check("api", set, files, &used)
	against := map[string]bool{}
	for where, what := range used.Uses {
		_, isMethod := what.(*types.Func)
		user, declared := nameOf(where.Pos()), nameOf(what.Pos())
		if (isMethod || what.Parent() == pkg.Scope()) && what.Pkg() == pkg && slices.Index(order, user) > slices.Index(order, declared) {
			against[fmt.Sprintf("%s uses %s of %s", user, what.Name(), declared)] = true
		}
	}
	if len(against) > 10 {
		t.Errorf("%d uses run against the order: %v", len(against), against)
	}
}
