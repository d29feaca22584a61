package acctest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
)

// Rigged returns this service as seen through a proxy that meddles with what
// passes. Meddle may change the request, or answer it and return true.
func (s *Service) Rigged(meddle func(w http.ResponseWriter, r *http.Request) bool) *Service {
	s.t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !meddle(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	s.t.Cleanup(server.Close)
	return &Service{URL: server.URL + "/api/v1", Key: s.Key, t: s.t}
}
