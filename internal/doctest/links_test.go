package doctest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vcard/terraform-provider-vcard/internal/doctest"
)

// siteOf is a repository with these files.
func siteOf(files map[string]string) doctest.Site {
	repository := fstest.MapFS{}
	s := doctest.Site{Repository: repository, Pages: map[string]doctest.Page{}}
	for name, content := range files {
		repository[name] = &fstest.MapFile{Data: []byte(content)}
		if strings.HasSuffix(name, ".md") {
			s.Pages[name] = doctest.Parse(name, content)
		}
	}
	return s
}

func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	const registry = "https://registry.terraform.io/providers/vcard/vcard/latest/docs/"
	const raw = "https://raw.githubusercontent.com/vcard/terraform-provider-vcard/main/"
	for from, links := range map[string]map[string]string{
		"README.md": {
			"docs/guides/money.md#a-plan": "", "examples": "", "examples/main.tf": "", "https://example.com/x": "", "#start": "",
			"docs/guides/none.md": "no file", "docs/guides/money.md#none": "no heading", "#none": "no heading",
			"http://example.com": "https://", "https://example.com/a b": "https://", "examples/main.tf#a": "no heading",
		},
		"docs/guides/money.md": {
			"../resources/card.md": "", "../resources/card.md#nestedatt--top_up": "", registry + "guides/money": "",
			raw + "examples/main.tf": "", raw + "examples/none.png": "no file",
			"../resources/card": "no file", "../guides": "registry", "../../examples/main.tf": "registry", "../../README.md": "registry", "../index.md": "registry",
			registry + "guides/none": "no file", registry + "resources/card#none": "no heading",
		},
		"docs/index.md": {
			registry + "guides/money#a-plan": "",
			"guides/money.md":                "one level higher",
		},
	} {
		for link, problem := range links {
			s := siteOf(map[string]string{
				"README.md": "# Start", "docs/index.md": "# Index", "docs/guides/money.md": "# Money\n\n## A plan",
				"docs/resources/card.md": "# Card\n\n<a id=\"nestedatt--top_up\"></a>", "examples/main.tf": "",
			})
			page := s.Pages[from]
			page.Links = []doctest.Link{{Line: 7, Target: link}}
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
