package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

//go:embed templates/*.html assets/*
var files embed.FS

// frame is what every template gets.
type frame struct {
	Title   string
	Page    *page // nil: nobody is logged in
	Pages   []page
	Account account.Account
	Now     time.Time // the service's
	Version string
	Token   string // of the forms
	Query   url.Values
	Notice  string // what the last form has done
	Problem string // why the last form was refused
	Data    any

	posted *posted
}

// IsIn tells whether the frame is that of a page in the navigation, or below it.
func (f frame) IsIn(p page) bool { return f.Page.Path == p.Path || f.Page.In == p.Path }

// Value is what a field of an action's form shows: what was sent when it was
// refused, else a first choice.
func (f frame) Value(action, field, first string) string {
	if f.posted != nil && f.posted.action == action && f.posted.refused != nil {
		return f.posted.values.Get(field)
	}
	return first
}

// parseTemplates parses every page's template together with the shared ones.
func parseTemplates(pages []page) (map[string]*template.Template, error) {
	shared, err := template.New("layout.html").Funcs(functions()).ParseFS(files, "templates/layout.html", "templates/shared.html")
	if err != nil {
		return nil, err
	}
	names := []string{"login", "welcome", "error"}
	for _, p := range pages {
		names = append(names, p.template)
	}
	all := make(map[string]*template.Template, len(names))
	for _, name := range names {
		clone, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if all[name], err = clone.ParseFS(files, "templates/"+name+".html"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// render writes a page as a whole, or an error.
func (d *Dashboard) render(w http.ResponseWriter, name string, status int, f frame) {
	var b bytes.Buffer
	if err := d.templates[name].Execute(&b, f); err != nil {
		d.server.Logger.Error("a page could not be shown", "page", name, "error", err)
		http.Error(w, "The page could not be shown; the server's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody to tell when the reader went away
}

func (d *Dashboard) showError(w http.ResponseWriter, e *wire.Error) {
	d.render(w, "error", e.Status, frame{Title: http.StatusText(e.Status), Data: sentence(e.Message)})
}

func (d *Dashboard) notFound(w http.ResponseWriter, _ *http.Request) {
	d.showError(w, &wire.Error{Status: http.StatusNotFound, Code: wire.CodeNotFound, Message: "there is no such page"})
}

// sentence makes one of a message of the service.
func sentence(message string) string {
	return strings.ToUpper(message[:1]) + message[1:] + "."
}

// serveAsset serves what pages load beside themselves.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := files.ReadFile("assets/" + name)
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	header := w.Header()
	header.Set("Content-Type", types[path.Ext(name)])
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(content) //nolint:gosec // embedded; there is nobody to tell when the reader went away
}
