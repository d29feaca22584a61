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

// healthTimeout is how long a sandbox may take to respond.
const healthTimeout = 3 * time.Second

// checkHealth returns an error unless the server at the address responds like a sandbox. It does not need an API key: it
// checks that the server refuses a request without one.
func checkHealth(ctx context.Context, address string) error {
	limitedCtx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	root := strings.TrimSuffix(address, "/")
	root = strings.TrimSuffix(root, server.API)
	request, err := http.NewRequestWithContext(limitedCtx, http.MethodGet, root+server.API+"/bins", http.NoBody)
	if err != nil || request.URL.Host == "" {
		return fmt.Errorf("--health %s: must be a URL, such as http://127.0.0.1:8420", address)
	}
	// Unlike the default client, a new transport uses no proxy and follows no redirects.
	response, err := new(http.Transport).RoundTrip(request)
	if err == nil {
		defer response.Body.Close()
	}
	if ctx.Err() != nil { // not limitedCtx, whose timeout is an error of the request
		return errors.New("the health check was interrupted")
	}
	notSandbox := fmt.Errorf("the server at %s is not a sandbox; check the URL", root)
	if err != nil {
		networkErr, ok := errors.AsType[net.Error](err)
		if !ok {
			return notSandbox // without err, which may quote the response
		}
		return fmt.Errorf("no sandbox answers at %s; check the URL, and that the sandbox is running: %w", root, networkErr)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, wire.MaxBody))
	if err != nil {
		return notSandbox
	}
	refused := response.StatusCode == http.StatusUnauthorized && strings.Contains(string(body), wire.CodeUnauthorized)
	if !refused {
		return notSandbox
	}
	return nil
}
