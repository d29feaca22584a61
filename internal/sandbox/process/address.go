package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const basePath = "/api/v1"

// Address is where a sandbox listens, and a key to it.
type Address struct {
	URL string // of the API, with /api/v1
	Key string
}

// ReadAddress reads what a sandbox prints when it listens.
func ReadAddress(output io.Reader) (Address, error) {
	var a Address
	_, err := fmt.Fscanf(output, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", &a.URL, &a.Key)
	return a, err
}

// Root is the address that the control calls are below.
func (a Address) Root() string { return strings.TrimSuffix(a.URL, basePath) }

// NewRequest makes a request with the key and, unless it is empty, a JSON body.
// The path is one of the API, such as /cards, or begins with /_sandbox or /api.
func (a Address) NewRequest(ctx context.Context, method, path, body string) (*http.Request, error) {
	base := a.URL
	if strings.HasPrefix(path, "/_sandbox") || strings.HasPrefix(path, "/api") {
		base = a.Root()
	}
	request, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}
