package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/served"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

const (
	// maxConnections is the maximum number of open connections. Further clients wait.
	maxConnections = 1_000
	// shutdownTime is how long a shutdown waits for running requests.
	shutdownTime = 10 * time.Second
)

// serve opens the sandbox and serves it until the context ends or serving fails.
func (s *settings) serve(ctx context.Context, stdout io.Writer, logger *slog.Logger) error {
	webhookCA, err := readFile("--webhook-ca", s.webhookCAFile, maxFile)
	if err != nil {
		return err
	}
	world, err := readFile("--seed", s.seedFile, maxFile)
	if err != nil {
		return err
	}
	listener, err := s.openListener(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // for errors before the server runs; closing it twice does no harm
	exposed := !isLoopback(listener.Addr())
	if exposed {
		logger.Warn("other machines can reach the sandbox, and plain HTTP exposes its API key to the network; listen on 127.0.0.1 to prevent this",
			"address", listener.Addr().String())
	}
	service, err := served.Open(ctx, served.Options{
		Options: sandbox.Options{
			Path:           s.data,
			InitialBalance: s.initialBalance,
			APIKey:         s.apiKey,
			Logger:         logger,
			WebhookCA:      webhookCA,
			PlainWebhooks:  !exposed,
			PublicWebhooks: exposed && !s.privateWebhooks,
		},
		Seed: world,
	})
	if err != nil {
		return err
	}
	serveErr := s.serveOn(ctx, listener, service, stdout, logger)
	closeErr := service.Close() //nolint:contextcheck // closing must not be cancelled
	return errors.Join(serveErr, closeErr)
}

func (s *settings) openListener(ctx context.Context) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err == nil {
		return listener, nil
	}
	const addressInUseOnWindows = syscall.Errno(10048) // WSAEADDRINUSE
	reason := ""
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, addressInUseOnWindows) {
		reason = ", where another sandbox may already be running"
	}
	return nil, fmt.Errorf("cannot listen on %s%s; choose another address, such as --listen 127.0.0.1:8421, or port 0 for a free one: %w", s.listen, reason, err)
}

func (s *settings) serveOn(ctx context.Context, listener net.Listener, service *served.Sandbox, stdout io.Writer, logger *slog.Logger) error {
	root := rootURL(listener.Addr())
	// The root has an IP address. The dashboard must also know the host name in --listen, because it refuses unknown ones.
	hostName, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return err
	}
	dashboard, err := service.Dashboard(root, hostName)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler:        dashboard,
		ReadTimeout:    shutdownTime,    // for headers and body; a shutdown must not wait longer for a request that is still arriving
		WriteTimeout:   2 * time.Minute, // longer than a fault can delay a response: 100 seconds
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 * 1024,
		ErrorLog:       slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	web.RegisterOnShutdown(dashboard.Close)
	web.RegisterOnShutdown(service.EndDelays)
	err = printAddress(stdout, root, service)
	if err != nil {
		return fmt.Errorf("cannot print the address: %w", err)
	}
	logger.Info("the sandbox is listening", "address", listener.Addr().String(), "data", s.data)
	logger.Info("open the dashboard with this link; it works once, within 15 minutes", "link", dashboard.Link())
	err = serveUntilDone(ctx, web, netutil.LimitListener(listener, maxConnections))
	logger.Info("the sandbox has stopped")
	return err
}

// printAddress prints the address and the API keys in a form that a shell can read. It does not use the log, which must
// not contain the keys.
func printAddress(stdout io.Writer, root string, service *served.Sandbox) error {
	_, err := fmt.Fprintf(stdout, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", root+server.API, service.APIKey())
	if err != nil {
		return err
	}
	for i, key := range service.Keys() {
		if i == 0 {
			continue // the first account's key is already printed
		}
		_, err = fmt.Fprintf(stdout, "VCARD_API_KEY_%d=%s\n", i+1, key)
		if err != nil {
			return err
		}
	}
	return nil
}

// serveUntilDone serves requests until the context ends or serving fails. When the context ends, it waits for running
// requests, and aborts them after shutdownTime.
func serveUntilDone(ctx context.Context, web *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	go func() { stopped <- web.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("cannot serve requests: %w", err)
	case <-ctx.Done():
	}
	graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := web.Shutdown(graceCtx)
	if errors.Is(err, context.DeadlineExceeded) {
		abortedErr := fmt.Errorf("the shutdown aborted requests that were still running after %s", shutdownTime)
		closeErr := web.Close()
		err = errors.Join(abortedErr, closeErr)
	}
	serveErr := <-stopped
	if !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// rootURL returns the URL of a listener's address. A listener on all addresses gets the URL of the loopback address.
func rootURL(address net.Addr) string {
	tcp, ok := address.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}
		return "http://" + loopback.String()
	}
	return "http://" + address.String()
}
