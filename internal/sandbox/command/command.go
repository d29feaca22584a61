// Package command is the sandbox as a program of its own.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/netutil"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/served"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Exit codes of Main.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const (
	// maxConnections is how many callers may be connected; further ones wait.
	maxConnections = 1_000
	// shutdownTime is how long running requests may take after the end.
	shutdownTime = 10 * time.Second
)

type settings struct {
	listen  string
	data    string
	apiKey  string
	keyFile string
	wallet  usd.Amount
	caFile  string
	seed    string
	health  string
	level   slog.Level

	snapshot        string // file to copy to
	privateWebhooks bool
}

// Main serves the sandbox until the context ends and returns the exit code.
// args are what follows the name of the sub-command. The address and the key
// go to stdout as VCARD_BASE_URL and VCARD_API_KEY, the log to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sandbox: %s\nRun with --help for the flags.\n", requestlog.Clean(err.Error()))
		return exitUsage
	}
	switch {
	case s.health != "":
		err = checkHealth(ctx, s.health)
	case s.snapshot != "":
		err = s.copyTo(ctx, s.snapshot)
	default:
		err = s.run(ctx, stdout, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: s.level})))
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sandbox: %s\n", requestlog.Printable(err.Error()))
		return exitFailed
	}
	return exitOK
}

func parse(args []string, stdout io.Writer) (settings, error) {
	var s settings
	flags := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8420", "address to listen on; port 0 picks a free one")
	flags.StringVar(&s.data, "data", "vcard-sandbox.db", "file that holds the service; :memory: keeps nothing")
	flags.StringVar(&s.keyFile, "api-key-file", "", "file with the API key of the first account of a new file; one is made when left out")
	flags.StringVar(&s.apiKey, "api-key", "", "the same as an argument, which every user of the machine can read")
	flags.StringVar(&s.seed, "seed", "", "YAML file with the world that a new file begins with")
	flags.StringVar(&s.caFile, "webhook-ca", "", "PEM file of a certificate authority to trust for webhooks, beside the system's")
	flags.BoolVar(&s.privateWebhooks, "allow-private-webhooks", false, "deliver to private addresses also when --listen is not on loopback")
	flags.StringVar(&s.health, "health", "", "look whether the sandbox at this URL answers, and end")
	flags.TextVar(&s.level, "log-level", slog.LevelInfo, "what to log: debug (every request), info, warn or error")
	balance := flags.String("initial-balance", sandbox.DefaultInitialBalance.String(), "USD in the wallet of a new file")
	flags.Usage = func() {
		_, _ = fmt.Fprintf(stdout, "Serves the virtual-card service from a local file.\nsandbox snapshot FILE copies that file, while it is served, too.\n\nFlags:\n%s", flags.FlagUsages())
	}
	if err := flags.Parse(args); err != nil {
		if strings.HasPrefix(err.Error(), "unknown shorthand flag") {
			err = errors.New("flags begin with two dashes, as in --data cards.db")
		}
		return settings{}, err
	}
	switch arguments := flags.Args(); {
	case len(arguments) == 2 && arguments[0] == "snapshot":
		s.snapshot = arguments[1]
	case len(arguments) > 0 && arguments[0] == "snapshot":
		return settings{}, errors.New("snapshot wants a new file, as in: vcard sandbox snapshot copy.db")
	case len(arguments) > 0:
		return settings{}, fmt.Errorf("unexpected argument %q; a sandbox's file comes after --data, as in: vcard sandbox --data cards.db", arguments[0])
	}
	amount, err := usd.Parse(*balance)
	if err != nil || amount < 0 {
		return settings{}, fmt.Errorf("--initial-balance %q: want USD with at most two decimals, not negative", *balance)
	}
	s.wallet = amount
	return s, s.readKey()
}

// What a file may hold, in bytes.
const (
	maxKeyFile = 1 << 10
	maxFile    = 4 << 20 // a world with twenty thousand purchases
)

func (s *settings) readKey() error {
	if s.keyFile != "" && s.apiKey != "" {
		return errors.New("--api-key and --api-key-file exclude each other")
	}
	text, err := read("--api-key-file", s.keyFile, maxKeyFile)
	if err != nil || text == nil {
		return err
	}
	if s.apiKey = strings.TrimSpace(string(text)); s.apiKey == "" {
		return fmt.Errorf("--api-key-file: %s is empty", s.keyFile)
	}
	return nil
}

func read(flag, path string, most int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path) //nolint:gosec // who starts the sandbox names it
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("%s: %s is larger than %d KiB, the most that is read", flag, path, most>>10)
	}
	return text, nil
}

func (s settings) copyTo(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(s.data); err != nil {
		return fmt.Errorf("there is no sandbox to copy; name its file with --data: %w", err)
	}
	db, err := store.Open(ctx, store.Options{Path: s.data})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Snapshot(ctx, path)
}

func (s settings) run(ctx context.Context, stdout io.Writer, logger *slog.Logger) (err error) {
	if s.apiKey != "" && s.keyFile == "" {
		logger.Warn("--api-key shows the key in the list of processes; use --api-key-file")
	}
	webhookCA, err := read("--webhook-ca", s.caFile, maxFile)
	if err != nil {
		return err
	}
	world, err := read("--seed", s.seed, maxFile)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		taken := ""
		if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.Errno(10048)) { // the same of Windows
			taken = ", where another sandbox may run already"
		}
		return fmt.Errorf("cannot listen on %s%s; choose another address with --listen, as in 127.0.0.1:8421; port 0 takes a free one: %w", s.listen, taken, err)
	}
	defer func() { _ = listener.Close() }() // the server has closed it, unless there was none
	exposed := !isLoopback(listener.Addr())
	if exposed {
		logger.Warn("others on the network can reach the sandbox, over plain HTTP, which shows them its key", "address", listener.Addr().String())
	}
	service, err := served.Open(ctx, served.Options{
		Options: sandbox.Options{
			Path: s.data, InitialBalance: s.wallet, APIKey: s.apiKey, Logger: logger, WebhookCA: webhookCA,
			PlainWebhooks: !exposed, PublicWebhooks: exposed && !s.privateWebhooks,
		},
		Seed: world,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }() //nolint:contextcheck // closing comes after the context's end
	name, _, _ := net.SplitHostPort(s.listen)                  // it was good enough to listen on
	dashboard, err := service.Dashboard(root(listener.Addr()), name)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler:        dashboard,
		ReadTimeout:    shutdownTime, // of headers and body
		WriteTimeout:   2 * time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	web.RegisterOnShutdown(dashboard.Close)
	web.RegisterOnShutdown(service.EndDelays)
	// The key goes to standard output alone: the log may be kept.
	_, err = fmt.Fprintf(stdout, "VCARD_BASE_URL=%s\nVCARD_API_KEY=%s\n", root(listener.Addr())+server.API, service.APIKey())
	for i, key := range service.Keys() {
		if i > 0 && err == nil { // the first account's is there
			_, err = fmt.Fprintf(stdout, "VCARD_API_KEY_%d=%s\n", i+1, key)
		}
	}
	if err != nil {
		return fmt.Errorf("writing the address: %w", err)
	}
	logger.Info("the sandbox listens", "address", listener.Addr().String(), "data", s.data)
	logger.Info("this link opens the dashboard, once and within 15 minutes", "link", dashboard.Link())
	err = serve(ctx, web, netutil.LimitListener(listener, maxConnections))
	logger.Info("the sandbox has stopped")
	return err
}

// serve returns when the context has ended and running requests are answered.
func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(errors.New("some requests were cut off"), server.Close())
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func isLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func root(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String()) // which a listener's is made of
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

const healthTime = 3 * time.Second

// checkHealth returns an error unless a sandbox refuses a call without a key at an address.
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
