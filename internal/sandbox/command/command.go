// Package command implements the command "vcard sandbox". It serves the sandbox over HTTP, copies its file, or checks that
// a sandbox answers.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/vcard/terraform-provider-vcard/internal/cli"
	"github.com/vcard/terraform-provider-vcard/internal/display"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// envAPIKey is the environment variable with the API key of the first account of a new file. It differs from
// VCARD_API_KEY, which may contain the key of a real account.
const envAPIKey = "VCARD_SANDBOX_API_KEY" //nolint:gosec // a name, not a key

const help = `Serve the card service from a local file, with a dashboard.

Usage:
  vcard sandbox [flags]
  vcard sandbox snapshot [--data FILE] COPY

The address and the API key go to standard output, as VCARD_BASE_URL and VCARD_API_KEY. The log
goes to standard error. "snapshot" copies the file, even while it is served.

Examples:
  vcard sandbox
  vcard sandbox --data :memory: --listen 127.0.0.1:0 > sandbox.env
  vcard sandbox --data fleet.db --seed world.yaml
  vcard sandbox snapshot --data fleet.db copy.db
  vcard sandbox --health http://127.0.0.1:8420

Flags:
%s
Environment:
  ` + envAPIKey + `   API key of the first account of a new file, instead of --api-key-file

Exit status:
  0  stopped by a signal, or done
  1  failed
  2  invalid flags or arguments
`

type settings struct {
	listen          string
	data            string
	initialBalance  usd.Amount
	seedFile        string
	apiKeyFile      string
	apiKey          string
	webhookCAFile   string
	privateWebhooks bool
	logLevel        slog.Level
	healthURL       string
	snapshotPath    string // of the copy
}

// Main runs the command until it is done or the context ends, and returns its exit status. args follow the name of the
// command; getenv looks up an environment variable.
func Main(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var s settings
	flags := s.flags()
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		_, _ = fmt.Fprintf(stdout, help, flags.FlagUsages())
		return exitOK
	}
	if err != nil {
		const exampleFlag = "--data cards.db"
		printUsageError(stderr, cli.ExplainSingleDash(err, exampleFlag))
		return exitUsage
	}
	err = s.readArguments(flags.Args(), getenv)
	if err != nil {
		printUsageError(stderr, err)
		return exitUsage
	}
	err = s.run(ctx, stdout, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "sandbox: %s\n", display.Printable(err.Error()))
		return exitFailed
	}
	return exitOK
}

func printUsageError(stderr io.Writer, err error) {
	message := requestlog.Clean(err.Error()) // an argument may contain a key
	_, _ = fmt.Fprintf(stderr, "sandbox: %s\nRun \"vcard sandbox --help\" for usage.\n", message)
}

// flags returns the flags, which set the fields of the settings.
func (s *settings) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {} // Main prints the help
	flags.StringVar(&s.listen, "listen", "127.0.0.1:8420", "`ADDRESS` to listen on; port 0 picks a free one")
	flags.StringVar(&s.data, "data", "vcard-sandbox.db", "`FILE` of the sandbox; :memory: saves nothing")
	s.initialBalance = sandbox.DefaultInitialBalance // Var has no parameter for the default: it is the current value
	flags.Var((*amount)(&s.initialBalance), "initial-balance", "`USD` in the wallet of a new file")
	flags.StringVar(&s.seedFile, "seed", "", "YAML `FILE` with the accounts, cards and purchases of a new file")
	flags.StringVar(&s.apiKeyFile, "api-key-file", "", "`FILE` with the API key of the first account of a new file (default: a generated key)")
	flags.StringVar(&s.webhookCAFile, "webhook-ca", "", "PEM `FILE` of a certificate authority to trust for webhooks, in addition to the system's")
	flags.BoolVar(&s.privateWebhooks, "allow-private-webhooks", false, "deliver webhooks to private addresses even if --listen is not a loopback address")
	flags.Var((*level)(&s.logLevel), "log-level", "`LEVEL` to log from: debug (every request), info, warn or error")
	flags.StringVar(&s.healthURL, "health", "", "check that a sandbox answers at `URL`, then exit")
	return flags
}

// readArguments reads the arguments that are not flags, and the API key.
func (s *settings) readArguments(args []string, getenv func(string) string) error {
	if len(args) > 0 && args[0] == "snapshot" {
		if len(args) != 2 {
			return errors.New("snapshot needs the name of a new file and no other arguments: vcard sandbox snapshot copy.db")
		}
		s.snapshotPath = args[1]
	} else if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; the sandbox's file follows --data: vcard sandbox --data cards.db", args[0])
	}
	s.apiKey = getenv(envAPIKey)
	if s.apiKeyFile == "" {
		return nil
	}
	if s.apiKey != "" {
		return errors.New("set either --api-key-file or " + envAPIKey + ", not both")
	}
	text, err := readFile("--api-key-file", s.apiKeyFile, maxKeyFile)
	if err != nil {
		return err
	}
	s.apiKey = strings.TrimSpace(string(text))
	if s.apiKey == "" {
		return fmt.Errorf("--api-key-file: %s is empty", s.apiKeyFile)
	}
	return nil
}

func (s *settings) run(ctx context.Context, stdout, stderr io.Writer) error {
	if s.healthURL != "" {
		return checkHealth(ctx, s.healthURL)
	}
	if s.snapshotPath != "" {
		return s.takeSnapshot(ctx)
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: s.logLevel}))
	return s.serve(ctx, stdout, logger)
}

func (s *settings) takeSnapshot(ctx context.Context) error {
	_, err := os.Stat(s.data) // store.Open would create a missing file
	if err != nil {
		return fmt.Errorf("no sandbox to copy; name its file with --data: %w", err)
	}
	db, err := store.Open(ctx, store.Options{Path: s.data})
	if err != nil {
		return err
	}
	snapshotErr := db.Snapshot(ctx, s.snapshotPath)
	closeErr := db.Close()
	return errors.Join(snapshotErr, closeErr)
}

// The maximum sizes of files, in bytes.
const (
	maxKeyFile = 1024            // of --api-key-file
	maxFile    = 4 * 1024 * 1024 // of --webhook-ca and --seed
)

// readFile reads the file that a flag names. It returns nil if the path is empty. limit is the maximum size in bytes.
func readFile(flag, path string, limit int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path) //nolint:gosec // the path is a flag of the user
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1)) // one more byte shows that the file is too large
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: %s is larger than %d KiB", flag, path, limit/1024)
	}
	return text, nil
}

// amount is the value of a flag: an amount in USD that is not negative.
type amount usd.Amount

func (a *amount) String() string { return usd.Amount(*a).String() }
func (a *amount) Type() string   { return "USD" }

func (a *amount) Set(text string) error {
	parsed, err := usd.Parse(text)
	if err != nil || parsed < 0 {
		return errors.New("must be an amount in USD, 0 or more, with at most two decimals")
	}
	*a = amount(parsed)
	return nil
}

// level is the value of a flag: the name of a log level.
type level slog.Level

func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }
func (l *level) Type() string   { return "LEVEL" }

func (l *level) Set(text string) error {
	err := (*slog.Level)(l).UnmarshalText([]byte(text))
	if err != nil {
		return errors.New("must be debug, info, warn or error")
	}
	return nil
}
