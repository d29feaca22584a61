package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const healthTime = 3 * time.Second

// checkHealth returns an error unless a sandbox answers at an address: to a call without a
// key, as the API does.
func checkHealth(ctx context.Context, address string) error {
	limited, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	root := strings.TrimSuffix(strings.TrimSuffix(address, "/"), server.API)
	request, err := http.NewRequestWithContext(limited, http.MethodGet, root+server.API+"/bins", http.NoBody)
	if err != nil {
		return fmt.Errorf("--health %s: want a URL, such as http://127.0.0.1:8420", address)
	}
	// Of nobody's business but the sandbox's: no proxy is asked, nor where a redirect leads.
	response, err := new(http.Transport).RoundTrip(request)
	if network, ok := errors.AsType[net.Error](err); ok { // which quotes nothing that came
		return fmt.Errorf("no sandbox answers at %s: %w", root, network)
	}
	stranger := fmt.Errorf("what answers at %s is not a sandbox", root)
	if err != nil {
		return stranger
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, wire.MaxBody))
	if err != nil || response.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), wire.CodeUnauthorized) {
		return stranger
	}
	return nil
}
