package dashboard

import (
	"crypto/sha256"
	_ "embed" // strings: an embed.FS would make the program 25 kB larger
	"encoding/hex"
	"html/template"
	"net/http"
)

// The templates, and what pages load beside themselves.
var (
	//go:embed templates/card.html
	cardHTML string
	//go:embed templates/cards.html
	cardsHTML string
	//go:embed templates/challenges.html
	challengesHTML string
	//go:embed templates/delivery.html
	deliveryHTML string
	//go:embed templates/deposits.html
	depositsHTML string
	//go:embed templates/layout.html
	layoutHTML string
	//go:embed templates/ledger.html
	ledgerHTML string
	//go:embed templates/overview.html
	overviewHTML string
	//go:embed templates/requests.html
	requestsHTML string
	//go:embed templates/run.html
	runHTML string
	//go:embed templates/shared.html
	sharedHTML string
	//go:embed templates/transaction.html
	transactionHTML string
	//go:embed templates/transactions.html
	transactionsHTML string
	//go:embed templates/webhooks.html
	webhooksHTML string
	//go:embed templates/world.html
	worldHTML string

	//go:embed assets/dashboard.css
	styles string
	//go:embed assets/dashboard.js
	script string
	//go:embed assets/icon.svg
	icon string
)

// parse returns the templates of pages, by their paths, and of what is not a page.
func parse(pages []*page, asset func(file string) string) (*template.Template, error) {
	texts := map[string]string{"layout": layoutHTML, "shared": sharedHTML}
	for _, p := range pages {
		texts[p.Path] = p.html
	}
	all := template.New("").Funcs(functions()).Funcs(template.FuncMap{"asset": asset})
	for name, text := range texts {
		if _, err := all.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// asset is what pages load beside themselves, at a path that changes with the content,
// so that a browser may keep it for good.
type asset struct{ file, kind, content, path string }

type assets []asset

func newAssets() assets {
	all := assets{
		{"dashboard.css", "text/css; charset=utf-8", styles, ""},
		{"dashboard.js", "text/javascript; charset=utf-8", script, ""},
		{"icon.svg", "image/svg+xml", icon, ""},
	}
	for i := range all {
		hash := sha256.Sum256([]byte(all[i].content))
		all[i].path = "/assets/" + hex.EncodeToString(hash[:8]) + "." + all[i].file
	}
	return all
}

// path returns where an asset is served.
func (all assets) path(file string) string {
	for _, a := range all {
		if a.file == file {
			return a.path
		}
	}
	return ""
}

// serve is what an http.FileServerFS would make the program 78 kB larger for.
func (all assets) serve(w http.ResponseWriter, r *http.Request) {
	for _, a := range all {
		if a.path == r.URL.Path {
			w.Header().Set("Content-Type", a.kind)
			w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
			_, _ = w.Write([]byte(a.content)) // there is nobody to tell when the reader went away
			return
		}
	}
	http.NotFound(w, r)
}
