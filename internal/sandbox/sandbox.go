// Package sandbox is a virtual-card service behind one http.Handler, with its data in one SQLite file or in memory.
// Package served adds further control calls, seeding and the dashboard.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/account"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/behavior"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/card"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/threeds"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/transaction"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/webhook"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// DefaultInitialBalance is the initial balance that vcard sandbox and the provider use by default. Open itself uses 0.
const DefaultInitialBalance = 10_000 * usd.Dollar

// Options are the settings of a sandbox.
type Options struct {
	Path           string           // a SQLite file, which Open creates if it is missing; ":memory:" for no file
	InitialBalance usd.Amount       // the wallet balance of the first account of a new file
	APIKey         string           // the first key of the first account; empty for the file's or a generated one
	Logger         *slog.Logger     // nil discards the log
	Clock          func() time.Time // nil is time.Now
	WebhookCA      []byte           // certificate authorities of endpoints as PEM, in addition to the system's
	WebhookTimeout time.Duration    // how long an endpoint may take to respond; 0 for the default
	PlainWebhooks  bool             // allow endpoints with http on this machine
	PublicWebhooks bool             // do not deliver to this machine or to private networks
	Routes         []server.Route   // additional calls
}

// keyForm matches the API keys of sandboxes. They need no quoting in headers and shells.
var keyForm = regexp.MustCompile(`^` + vault.KeyPrefix + `[\w-]{16,200}$`)

// Sandbox is an open service. Several may share a file.
type Sandbox struct {
	db        *store.DB
	keys      *vault.Keyring
	first     account.Account
	apiKey    string // the first key of the first account
	recorder  *requestlog.Recorder
	worker    *webhook.Worker
	server    *server.Server
	handler   http.Handler
	endDelays func() // ends the delays of faults
}

// Open opens the sandbox in a file, or creates the file. The caller must close the sandbox.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if o.InitialBalance < 0 {
		return nil, errors.New("the sandbox's initial balance must not be negative")
	}
	if o.APIKey != "" {
		err := checkKey(o.APIKey)
		if err != nil {
			return nil, err
		}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	roots, err := webhook.Roots(o.WebhookCA)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, store.Options{Path: o.Path, Wall: o.Clock})
	if err != nil {
		return nil, err
	}
	s := &Sandbox{db: db, recorder: requestlog.New(db, o.Logger)}
	err = db.WriteFirst(ctx, func(tx *store.Tx) error { return s.initialize(tx, o) })
	if err != nil {
		err = fmt.Errorf("cannot open the sandbox file %s: %w", o.Path, err)
		return nil, errors.Join(err, db.Close())
	}
	stopping := make(chan struct{})
	s.endDelays = sync.OnceFunc(func() { close(stopping) })
	s.server = &server.Server{
		DB:       db,
		Keys:     s.keys,
		Recorder: s.recorder,
		Counters: behavior.NewCounters(),
		Logger:   o.Logger,
		Stopping: stopping,
	}
	s.handler = s.server.Handler(slices.Concat(
		card.Routes(), transaction.Routes(), wallet.Routes(), threeds.Routes(), webhook.Routes(o.PlainWebhooks), o.Routes,
	))
	s.worker = webhook.StartWorker(webhook.WorkerOptions{
		DB:         db,
		Logger:     o.Logger,
		Roots:      roots,
		Timeout:    o.WebhookTimeout,
		PublicOnly: o.PublicWebhooks,
	})
	return s, nil
}

// checkKey returns an error if a key does not have the form of a sandbox's API key. The error must not contain the key.
func checkKey(key string) error {
	if !strings.HasPrefix(key, vault.KeyPrefix) {
		return fmt.Errorf("the API key of a sandbox starts with %s; do not use a real key here", vault.KeyPrefix)
	}
	if !keyForm.MatchString(key) {
		return fmt.Errorf("the API key of a sandbox is %s followed by 16 to 200 letters, digits, - or _", vault.KeyPrefix)
	}
	return nil
}

// initialize reads the master key and the first account from the file. It creates both in a new file. It returns an
// error if the options have an API key other than the account's first one.
func (s *Sandbox) initialize(tx *store.Tx, o Options) error {
	var master []byte
	found, err := tx.Get([]any{&master}, `SELECT master_key FROM service`)
	if err != nil {
		return err
	}
	newFile := !found
	if newFile {
		master = vault.NewMasterKey()
		err := tx.Exec(`INSERT INTO service (id, master_key, initial_balance) VALUES (1, ?, ?)`, master, o.InitialBalance)
		if err != nil {
			return err
		}
	}
	s.keys, err = vault.New(master)
	if err != nil {
		return err
	}
	if newFile {
		err := account.CreateFirst(tx, s.keys, o.APIKey, o.InitialBalance)
		if err != nil {
			return err
		}
	}
	s.first, err = account.First(tx)
	if err != nil {
		return err
	}
	s.apiKey, err = account.Key(tx, s.keys, s.first.PublicID)
	if err != nil {
		return err
	}
	keyGiven := o.APIKey != ""
	if keyGiven && o.APIKey != s.apiKey {
		return errors.New("it was created with another API key; omit the key, or choose another path")
	}
	return nil
}

// Handler returns a handler that serves the API under /api/v1, control calls under /_sandbox, and the routes of the
// options. To cut a response off, the handler panics with http.ErrAbortHandler.
func (s *Sandbox) Handler() http.Handler { return s.handler }

// Server returns the server, which can also run calls without an HTTP request.
func (s *Sandbox) Server() *server.Server { return s.server }

// FirstAccount returns the file's first account.
func (s *Sandbox) FirstAccount() account.Account { return s.first }

// APIKey returns the first key of the first account.
func (s *Sandbox) APIKey() string { return s.apiKey }

// Path returns the file's absolute path, or ":memory:".
func (s *Sandbox) Path() string { return s.db.Path() }

// Created reports whether Open created the file.
func (s *Sandbox) Created() bool { return s.db.Created() }

// EndDelays ends the delays that faults cause, so that a server can shut down without waiting for them.
func (s *Sandbox) EndDelays() { s.endDelays() }

// Close ends the delays of faults and closes the sandbox. Requests that are still running may fail.
func (s *Sandbox) Close() error {
	s.endDelays()
	s.worker.Close()
	recorderErr := s.recorder.Close() // writes to the file
	return errors.Join(recorderErr, s.db.Close())
}
