package api

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Held says what a client holds: slots of the limits, and locks. Of one that nobody
// calls it is nothing.
func Held(c *Client) (held []string) {
	for name, table := range map[string]*lockTable{"cards": &c.cardLocks, "issuances": &c.issues.locks} {
		table.mu.Lock()
		for of, lock := range table.locks {
			if lock.TryAcquire(1) {
				lock.Release(1)
				continue
			}
			held = append(held, fmt.Sprintf("a lock of %s: %s", name, of))
		}
		table.mu.Unlock()
	}
	for _, windows := range reflect.ValueOf(c.Client).Elem().FieldByName("limits").Elem().FieldByName("windows").Seq2() {
		for _, window := range windows.Seq2() {
			if n := window.Elem().FieldByName("inFlight").Int(); n != 0 {
				held = append(held, fmt.Sprintf("%d slots", n))
			}
		}
	}
	return held
}

// parse parses the files of a folder, less its tests.
func parse(set *token.FileSet, folder string) (files []*ast.File) {
	for _, path := range sandboxtest.Must(filepath.Glob(filepath.Join(folder, "*.go"))) {
		if !strings.HasSuffix(path, "_test.go") {
			files = append(files, sandboxtest.Must(parser.ParseFile(set, path, nil, parser.ParseComments)))
		}
	}
	return files
}

// However long a list is, a few ids of it are remembered.
func TestSeenIDsAreFew(t *testing.T) {
	t.Parallel()
	var seen seenIDs
	for i := range 1000 {
		page := make([]Transaction, MaxPerPage)
		for n := range page {
			page[n].ID = fmt.Sprint(i, n)
		}
		if fresh := seen.addPage(page); len(fresh) != MaxPerPage {
			t.Fatalf("%d are new", len(fresh))
		}
	}
	if n := len(seen.firstPage) + len(seen.older) + len(seen.newer); n > 20_000 {
		t.Errorf("%d ids are remembered", n)
	}
}

// Which card of a list is the one that was asked for.
func TestIdentify(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limit, higher := 500*usd.Dollar, 501*usd.Dollar
	wanted := IssueCardRequest{BinID: "bin_1", Label: "ads  eu, spring campaign", Amount: 100 * usd.Dollar, SpendingLimit: &limit}
	unique, unlimited := wanted, wanted
	unique.GeneratedLabel, unlimited.SpendingLimit = true, nil
	card := func(id string, early time.Duration) CardSummary {
		label := transport.NewLabel("ads eu, spring campaign ")
		item := CardListItem{ID: id, BinID: "BIN_1", Label: label, Balance: 100 * usd.Dollar, SpendingLimit: limit}
		return CardSummary{item, transport.Timestamp(asked.Add(-early).Format(time.RFC3339Nano))}
	}
	clamped, dateless, own, cut := card("card_3", 0), card("card_4", 0), card("card_5", 240*time.Hour), card("card_6", 0)
	charged := card("card_7", 0)
	cut.Label = transport.NewLabel("Ads EU, spring campa")
	clamped.SpendingLimit, dateless.CreatedAt, own.SpendingLimit, own.Balance, charged.Balance = limit-1, "", 0, 0, 99*usd.Dollar
	for name, test := range map[string]struct {
		wanted  IssueCardRequest
		anytime bool
		alike   []CardSummary
		reason  string // why it is not identified; empty where it is
	}{
		"one":                        {wanted: wanted, alike: []CardSummary{card("card_1", 0)}},
		"two":                        {wanted: wanted, alike: []CardSummary{card("card_2", 0), card("card_1", 0)}, reason: "2 new cards"},
		"at the same moment":         {wanted: wanted, alike: []CardSummary{card("card_1", 10*time.Second)}},
		"too old":                    {wanted: wanted, alike: []CardSummary{card("card_1", 200*time.Second)}, reason: "3m20s before"},
		"too old by a moment":        {wanted: wanted, alike: []CardSummary{card("card_1", 10*time.Second+1)}, reason: "before"},
		"of another day, or a clock": {wanted: wanted, alike: []CardSummary{card("card_1", 48*time.Hour)}, reason: "48h0m0s before"},
		"asked for at no known time": {wanted: wanted, anytime: true, alike: []CardSummary{card("card_1", 240*time.Hour)}},
		"issued at no known time":    {wanted: wanted, alike: []CardSummary{dateless}},
		"another limit":              {wanted: wanted, alike: []CardSummary{clamped}, reason: "spending limit"},
		"another load":               {wanted: wanted, alike: []CardSummary{charged}, reason: "but its balance is 99.00 instead of 100.00 USD"},
		"a label in other letters":   {wanted: wanted, alike: []CardSummary{cut}, reason: "has the label"},
		"no limit was asked for":     {wanted: unlimited, alike: []CardSummary{clamped}},
		"a label of its own":         {wanted: unique, alike: []CardSummary{own}},
	} {
		askedAt := asked
		if test.anytime {
			askedAt = time.Time{}
		}
		err := test.wanted.checkSingleMatch(test.alike, askedAt)
		if (err == nil) != (test.reason == "") || err != nil && !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %v, want %q", name, err, test.reason)
		}
	}
	like := card("card_1", 0).CardListItem
	for name, test := range map[string]struct {
		change func(*CardListItem)
		want   bool
		unique bool
	}{
		"the same":        {func(*CardListItem) {}, true, true},
		"another label":   {func(c *CardListItem) { c.Label = transport.NewLabel("ads us") }, false, false},
		"one as long":     {func(c *CardListItem) { c.Label = transport.NewLabel("ads us, spring campaign") }, false, false},
		"a cut label":     {func(c *CardListItem) { c.Label = cut.Label }, false, true},
		"other letters":   {func(c *CardListItem) { c.Label = transport.NewLabel(strings.ToUpper(c.Label.Raw())) }, true, true},
		"its beginning":   {func(c *CardListItem) { c.Label = transport.NewLabel(cut.Label.Raw()[:9]) }, false, false},
		"another BIN":     {func(c *CardListItem) { c.BinID = "bin_2" }, false, false},
		"no BIN":          {func(c *CardListItem) { c.BinID = "" }, true, true},
		"another balance": {func(c *CardListItem) { c.Balance-- }, true, true},
		"a clamped limit": {func(c *CardListItem) { c.SpendingLimit-- }, true, true},
		"a higher limit":  {func(c *CardListItem) { c.SpendingLimit = higher }, true, true},
	} {
		c := like
		test.change(&c)
		if wanted.isLike(c) != test.want || unique.isLike(c) != test.unique {
			t.Errorf("%s: %t, and with a label of its own %t", name, wanted.isLike(c), unique.isLike(c))
		}
	}
	both := []CardListItem{clamped.CardListItem, like}
	for best, of := range map[string][]CardListItem{
		"card_1": both,
		"card_3": {cut.CardListItem, clamped.CardListItem},
		"card_6": {charged.CardListItem, cut.CardListItem},
	} {
		if got := wanted.bestMatches(of); len(got) != 1 || got[0].ID != best {
			t.Errorf("the best are %+v, want %s", got, best)
		}
	}
	if best := unique.bestMatches([]CardListItem{charged.CardListItem, like}); len(best) != 2 {
		t.Errorf("of a label of its own the best are %+v", best)
	}
	if best := wanted.bestMatches(both[:1]); len(best) != 1 || len(both) != 2 || both[0].ID != "card_3" {
		t.Errorf("the best are %+v of %+v", best, both)
	}
	wanted.SpendingLimit = nil
	if best := wanted.bestMatches(both); len(best) != 2 || !wanted.isLike(clamped.CardListItem) {
		t.Errorf("without a limit the best are %+v", best)
	}
}

// Every text that a response is read into is one that shows as people may see it: no
// field of it, and no value read by itself, is a plain string but an id, which
// DecodeObject checks.
func TestNoPlainTextIsRead(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	isSafe, isText, checked := map[string]bool{"Secret": true}, map[string]bool{"string": true, "any": true}, 0
	files := append(parse(set, "."), parse(set, "transport")...)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil && n.Name.Name == "UnmarshalJSON" {
					isSafe[strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*")] = true
				}
			case *ast.TypeSpec:
				isText[n.Name.Name] = isText[n.Name.Name] || types.ExprString(n.Type) == "string"
			}
			return true
		})
	}
	check := func(at token.Pos, read ast.Expr) {
		checked++
		ast.Inspect(read, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && isText[name.Name] && !isSafe[name.Name] {
				t.Errorf("%s: %s is plain text", set.Position(at), types.ExprString(read))
			}
			_, isStruct := n.(*ast.StructType) // which is checked by itself
			return !isStruct
		})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IndexExpr:
				if strings.HasSuffix(types.ExprString(n.X), "DecodeOrZero") {
					check(n.Pos(), n.Index)
				}
			case *ast.StructType:
				isWritten := slices.ContainsFunc(n.Fields.List, func(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, ",omit") })
				for _, field := range n.Fields.List {
					if field.Tag == nil || isWritten {
						continue
					}
					name := strings.Trim(field.Tag.Value, "`json:\"")
					isID := types.ExprString(field.Type) == "string" && (name == "id" || strings.HasSuffix(name, "_id"))
					if name != "-" && !isID {
						check(field.Pos(), field.Type)
					}
				}
			}
			return true
		})
	}
	if checked < 30 {
		t.Errorf("only %d types were found", checked)
	}
}

// onlyOurs leaves out what other packages declare.
type onlyOurs struct{}

func (onlyOurs) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// Each file of a folder uses only the files after it, except for a few known uses.
func TestFilesUseThoseAfterThem(t *testing.T) {
	t.Parallel()
	exceptions := []string{
		"client uses baseline of issue_search",
		"client uses issueTracker of issue_search",
		"issue_search uses IssueCardRequest of issue",
	}
	for folder, files := range map[string]string{
		".": "doc bins webhooks threeds issue issue_search wallet money transactions transaction " +
			"cards_state cards_walk cards client how card",
		"transport": "doc mutation read request client outage redact config call errors fate decode text",
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			set := token.NewFileSet()
			nameOf := func(at token.Pos) string {
				return strings.TrimSuffix(filepath.Base(set.Position(at).Filename), ".go")
			}
			order := strings.Fields(files)
			parsed := parse(set, folder)
			var here []string
			for _, file := range parsed {
				here = append(here, nameOf(file.Pos()))
			}
			if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, here) {
				t.Fatalf("the order names %q, the package has %q", sorted, here)
			}
			used := types.Info{Uses: map[*ast.Ident]types.Object{}}
			pkg, _ := (&types.Config{Importer: onlyOurs{}, Error: func(error) {}}).Check("api", set, parsed, &used)
			for where, what := range used.Uses {
				_, isMethod := what.(*types.Func)
				user, declared := nameOf(where.Pos()), nameOf(what.Pos())
				isDeclaration := isMethod || what.Parent() == pkg.Scope()
				if !isDeclaration || what.Pkg() != pkg || slices.Index(order, user) <= slices.Index(order, declared) {
					continue
				}
				use := fmt.Sprintf("%s uses %s of %s", user, what.Name(), declared)
				if !slices.Contains(exceptions, use) {
					t.Errorf("%s, against the order", use)
				}
			}
		})
	}
}

// A card that was created some seconds before a request, by the service's clock, may be the requested one.
func TestIsTooOld(t *testing.T) {
	t.Parallel()
	requestedAt := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]bool{-time.Hour: false, 0: false, 10 * time.Second: false, 10*time.Second + 1: true} {
		got := isTooOld(requestedAt.Add(-age), requestedAt)
		if got != want {
			t.Errorf("created %s before the request: %t, want %t", age, got, want)
		}
	}
}
