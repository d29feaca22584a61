package api

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Over HTTP/2 net/http sends again by itself what a stream's end may have cut off.
func TestRequestsAreMadeOverHTTP1(t *testing.T) {
	t.Parallel()
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Proto", r.Proto)
	}))
	service.EnableHTTP2 = true
	service.StartTLS()
	defer service.Close()
	transport := newTransport()
	transport.TLSClientConfig.RootCAs = x509.NewCertPool()
	transport.TLSClientConfig.RootCAs.AddCert(service.Certificate())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, service.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil || response.Body.Close() != nil || response.Header.Get("Proto") != "HTTP/1.1" {
		t.Errorf("%+v, %v", response, err)
	}
}
