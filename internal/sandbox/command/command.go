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

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Exit codes of Main.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// shutdownTime is how long running requests may take after the end.
const shutdownTime = 10 * time.Second

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

	privateWebhooks bool
}

// Main serves the sandbox until the context ends and returns the exit code.
// args are what follows the name of the sub-command. The address and the key
// go to stdout as VCARD_BASE_URL and VCARD_API_KEY, the log to stderr.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	log := newLogWriter(stderr)
	defer log.close()
	s, err := parse(ctx, args, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintf(log, "sandbox: %s\nRun with --help for the flags.\n", requestlog.Clean(err.Error()))
		return exitUsage
	}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: s.level}))
	if s.health != "" {
		err = look(ctx, s.health)
	} else {
		err = s.run(ctx, stdout, logger)
	}
	if err != nil {
		_, _ = fmt.Fprintf(log, "sandbox: %s\n", requestlog.Printable(err.Error()))
		return exitFailed
	}
	return exitOK
}

func parse(ctx context.Context, args []string, stdout io.Writer) (settings, error) {
	var s settings
	flags := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
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
		_, _ = fmt.Fprintf(stdout, "Serves the virtual-card service from a local file.\n\nFlags:\n%s", flags.FlagUsages())
	}
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	amount, err := usd.Parse(*balance)
	if err != nil || amount < 0 {
		return settings{}, fmt.Errorf("--initial-balance %q: want USD with at most two decimals, not negative", *balance)
	}
	s.wallet = amount
	return s, s.readKey(ctx)
}

// What a file may hold, in bytes.
const (
	maxKeyFile = 1 << 10
	maxFile    = 4 << 20 // a world with twenty thousand purchases
)

func (s *settings) readKey(ctx context.Context) error {
	if s.keyFile != "" && s.apiKey != "" {
		return errors.New("--api-key and --api-key-file exclude each other")
	}
	text, err := read(ctx, "--api-key-file", s.keyFile, maxKeyFile)
	if err != nil || text == nil {
		return err
	}
	if s.apiKey = strings.TrimSpace(string(text)); s.apiKey == "" {
		return fmt.Errorf("--api-key-file: %s is empty", s.keyFile)
	}
	return nil
}

// read returns what the file of a flag holds, nil where none is named. The file may be
// a pipe to which nobody writes: the end of the context ends the wait for it.
func read(ctx context.Context, flag, path string, most int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	var text []byte
	var err error
	done := make(chan struct{})
	go func() { // which ends with the file, or with the process
		defer close(done)
		var file *os.File
		if file, err = os.Open(path); err != nil { //nolint:gosec // who starts the sandbox names it
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		text, err = io.ReadAll(io.LimitReader(file, most+1))
		if err == nil && int64(len(text)) > most {
			err = fmt.Errorf("%s is larger than %d KiB, the most that is read", path, most>>10)
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: interrupted before %s was read to its end", flag, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return text, nil
}

func (s settings) run(ctx context.Context, stdout io.Writer, logger *slog.Logger) (err error) {
	if s.apiKey != "" && s.keyFile == "" {
		logger.Warn("--api-key shows the key in the list of processes; use --api-key-file")
	}
	webhookCA, err := read(ctx, "--webhook-ca", s.caFile, maxFile)
	if err != nil {
		return err
	}
	world, err := read(ctx, "--seed", s.seed, maxFile)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		taken := ""
		if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.Errno(10048)) { // the same of Windows
			taken = ", where another sandbox may run already"
		}
		return fmt.Errorf("cannot listen on %s%s; choose another address with --listen, port 0 for a free one: %w", s.listen, taken, err)
	}
	defer func() { _ = listener.Close() }() // the server has closed it, unless there was none
	exposed := !isLoopback(listener.Addr())
	if exposed {
		logger.Warn("others on the network can reach the sandbox, over plain HTTP, which shows them its key", "address", listener.Addr().String())
	}
	service, err := sandbox.Open(ctx, sandbox.Options{
		Path: s.data, InitialBalance: s.wallet, APIKey: s.apiKey, Logger: logger, WebhookCA: webhookCA,
		PublicWebhooks: exposed && !s.privateWebhooks, Seed: world,
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
		Handler:           dashboard,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnState:         newConnections().changed,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	web.RegisterOnShutdown(dashboard.Close)
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
	err = serve(ctx, web, listener, service.Lost())
	logger.Info("the sandbox has stopped")
	select {
	case <-service.Lost():
		return errors.Join(fmt.Errorf("%s was removed or replaced while the sandbox had it open, or its -wal or -shm was; start again to use what is there now", service.Path()), err)
	default:
		return err
	}
}

// serve returns when the context has ended or the file is lost, and running
// requests are answered.
func serve(ctx context.Context, server *http.Server, listener net.Listener, lost <-chan struct{}) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	case <-lost:
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

// root is the address to give to clients on this machine.
func root(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String()) // which a listener's is made of
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}
