package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
)

//go:embed templates/*.html assets/*
var files embed.FS

// assets are what pages load beside themselves, by names that change with the
// content, so that a browser may keep them for good. The keys are those names.
type assets map[string]string

func hashAssets() (assets, error) {
	all := assets{}
	entries, err := files.ReadDir("assets")
	for _, entry := range entries {
		content, err := files.ReadFile("assets/" + entry.Name())
		if err != nil {
			return nil, err
		}
		hash := sha256.Sum256(content)
		all[hex.EncodeToString(hash[:8])+"."+entry.Name()] = entry.Name()
	}
	return all, err
}

// path returns where an asset is served, by the name of its file.
func (a assets) path(file string) string {
	for name, own := range a {
		if own == file {
			return "/assets/" + name
		}
	}
	return ""
}

// serve is what an http.FileServerFS would make the program 78 kB larger for.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	file := a[r.PathValue("name")]
	content, err := files.ReadFile("assets/" + file)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(file)])
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(content) // embedded; there is nobody to tell when the reader went away
}
