package doctest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// siteOf is a repository with these files.
func siteOf(files map[string]string) Site {
	repository := fstest.MapFS{}
	s := Site{Repository: repository, Pages: map[string]Page{}}
	for name, content := range files {
		repository[name] = &fstest.MapFile{Data: []byte(content)}
		if strings.HasSuffix(name, ".md") {
			s.Pages[name] = Parse(name, content)
		}
	}
	return s
}

func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	whole := strings.NewReplacer("REGISTRY", registry, "RAW", raw).Replace
	for _, row := range sandboxtest.Table(t, "testdata/links.txt", 3) {
		from, link, problem := row[0], whole(row[1]), row[2]
		s := siteOf(map[string]string{
			"README.md": "# Start", "docs/index.md": "# Index", "docs/guides/money.md": "# Money\n\n## A plan",
			"docs/resources/card.md": "# Card\n\n<a id=\"nestedatt--top_up\"></a>", "examples/main.tf": "",
		})
		page := s.Pages[from]
		page.Links = []Link{{Line: 7, Target: link}}
		s.Pages[from] = page
		err := s.CheckLinks()
		switch said := fmt.Sprint(err); {
		case problem == "" && err != nil:
			t.Error(err)
		case problem != "" && (!strings.HasPrefix(said, from+":7: ") || !strings.Contains(said, problem)):
			t.Errorf("%s to %s gives %s", from, link, said)
		}
	}
}

func TestWhatNoPageLeadsToIsFound(t *testing.T) {
	t.Parallel()
	s := siteOf(map[string]string{
		"README.md": "[a](docs/a.md) <picture><source srcset=\".github/images/a.png\"><img alt=\"a\" src=\".github/images/b.png\"></picture>, `<img src=\"c.png\">`",
		"docs/a.md": "[b](b.md)", "docs/b.md": "[a](a.md)", "docs/c.md": "[d](d.md)", "docs/d.md": "[c](c.md)",
		".github/images/a.png": "", ".github/images/c.png": "",
	})
	if err := s.CheckLinks(); err == nil || !strings.Contains(err.Error(), "b.png leads to no file") || strings.Contains(err.Error(), "a.png") {
		t.Errorf("the links are %v", err)
	}
	if unshown, err := s.Unshown(".github/images"); err != nil || !slices.Equal(unshown, []string{".github/images/c.png"}) {
		t.Errorf("unshown are %v, %v", unshown, err)
	}
	if unreached := s.Unreached("README.md"); !slices.Equal(unreached, []string{"docs/c.md", "docs/d.md"}) {
		t.Errorf("unreached are %v", unreached)
	}
}

// registry is where the pages of docs/ are published.
const registry = "https://registry.terraform.io/providers/vcard/vcard/latest/docs/"

// raw is where the registry's pages have the repository's pictures from.
const raw = "https://raw.githubusercontent.com/vcard/terraform-provider-vcard/main/"

// Site is a set of pages that link to each other, and the files beside them.
type Site struct {
	Repository fs.FS
	Pages      map[string]Page
}

// CheckLinks returns the links that lead nowhere, or do not on the registry.
func (s Site) CheckLinks() error {
	var problems []error
	for _, name := range s.names() {
		p := s.Pages[name]
		for _, link := range p.Links {
			if err := s.check(p, link.Target); err != nil {
				problems = append(problems, p.errorAt(link.Line, "the link to %s %w", link.Target, err))
			}
		}
	}
	return errors.Join(problems...)
}

// Unreached returns the pages that no links lead to from these.
func (s Site) Unreached(from ...string) []string {
	reached := map[string]bool{}
	for len(from) > 0 {
		name := from[0]
		from = from[1:]
		if !reached[name] {
			reached[name] = true
			from = append(from, s.LinkedFrom(name)...)
		}
	}
	return slices.DeleteFunc(s.names(), func(name string) bool { return reached[name] })
}

// Unshown returns the files of a folder that no page shows.
func (s Site) Unshown(folder string) ([]string, error) {
	shown := map[string]bool{}
	for name, page := range s.Pages {
		for _, link := range page.Links {
			file, _ := resolve(name, link.Target)
			shown[file] = true
		}
	}
	var unshown []string
	files, err := fs.ReadDir(s.Repository, folder)
	for _, file := range files {
		if path := path.Join(folder, file.Name()); !shown[path] {
			unshown = append(unshown, path)
		}
	}
	return unshown, err
}

// LinkedFrom returns the pages that a page links to.
func (s Site) LinkedFrom(name string) []string {
	var linked []string
	for _, link := range s.Pages[name].Links {
		target, _ := resolve(name, link.Target)
		if _, isPage := s.Pages[target]; isPage {
			linked = append(linked, target)
		}
	}
	return linked
}

func (s Site) names() []string {
	return slices.Sorted(maps.Keys(s.Pages))
}

// resolve returns the file that a link of a page leads to, "" for another site's,
// and the anchor there.
func resolve(from, target string) (file, anchor string) {
	file, anchor, _ = strings.Cut(target, "#")
	if picture, found := strings.CutPrefix(file, raw); found {
		return picture, anchor
	}
	switch page, published := strings.CutPrefix(file, registry); {
	case published:
		return "docs/" + page + ".md", anchor
	case strings.Contains(file, ":"):
		return "", ""
	case file == "":
		return from, anchor
	default:
		return path.Join(path.Dir(from), file), anchor
	}
}

func (s Site) check(from Page, target string) error {
	file, anchor := resolve(from.Path, target)
	if file == "" {
		return checkAddress(target)
	}
	if _, err := fs.Stat(s.Repository, file); err != nil {
		return errors.New("leads to no file")
	}
	if anchor != "" && !s.Pages[file].Anchors[anchor] {
		return errors.New("leads to no heading")
	}
	if file == from.Path || strings.HasPrefix(target, "https://") || !strings.HasPrefix(from.Path, "docs/") {
		return nil
	}
	// On the registry only docs/ exists, and its index has no folder of its own.
	if from.Path == "docs/index.md" {
		return errors.New("leads nowhere on the registry, which shows the index one level higher: write " + registry + "…")
	}
	if path.Ext(file) != ".md" || !strings.HasPrefix(file, "docs/") || file == "docs/index.md" {
		return errors.New("leads nowhere on the registry, which has the pages below docs/ alone")
	}
	return nil
}

func checkAddress(target string) error {
	address, err := url.Parse(target)
	if err != nil {
		return err
	}
	if address.Scheme != "https" || address.Host == "" || strings.ContainsAny(target, " \t") {
		return errors.New("is not of the form https://host/path")
	}
	return nil
}
