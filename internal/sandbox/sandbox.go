// Package sandbox is a complete virtual-card service in one SQLite file, behind one
// http.Handler. The provider embeds it; package served adds what a server offers besides.
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

// DefaultInitialBalance is what a first wallet holds unless told otherwise.
const DefaultInitialBalance = 10_000 * usd.Dollar

// Options says which sandbox to open.
type Options struct {
	Path           string           // a SQLite file, made when missing; ":memory:" keeps nothing
	InitialBalance usd.Amount       // of the first account's wallet, when the file is new
	APIKey         string           // the first account's key, when the file is new; empty: one is derived
	Logger         *slog.Logger     // nil discards
	Clock          func() time.Time // the clock on the wall; nil is time.Now
	WebhookCA      []byte           // PEM: authorities that endpoints' certificates may come from, beside the system's
	WebhookTimeout time.Duration    // how long an endpoint may take to answer; 0 is 15 s
	PlainWebhooks  bool             // take http endpoints on this machine's own addresses, too
	PublicWebhooks bool             // refuse endpoints whose address is this machine's or its network's
	Routes         []server.Route   // calls besides those of the service; see package served
}

// keyForm is what headers and shells take as it is, and nobody guesses.
var keyForm = regexp.MustCompile(`^` + vault.KeyPrefix + `[\w-]{16,200}$`)

// Sandbox is an open service. Several may share a file, in one process or many.
type Sandbox struct {
	db       *store.DB
	keys     *vault.Keyring
	first    account.Account
	apiKey   string // of the first account
	recorder *requestlog.Recorder
	worker   *webhook.Worker
	server   *server.Server
	handler  http.Handler
	hurry    func() // ends the delays of faults
}

// Open opens the service in a file, or begins one, and delivers its events until Close. The
// error says what is wrong with the path or the options, and never holds a key.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if o.InitialBalance < 0 {
		return nil, errors.New("the sandbox's initial balance must not be negative")
	}
	if o.APIKey != "" && !strings.HasPrefix(o.APIKey, vault.KeyPrefix) {
		return nil, fmt.Errorf("a sandbox's API key begins with %s; a real key must not be used here", vault.KeyPrefix)
	}
	if o.APIKey != "" && !keyForm.MatchString(o.APIKey) {
		return nil, fmt.Errorf("a sandbox's API key is %s and 16 to 200 letters, digits, - or _", vault.KeyPrefix)
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
	if err := db.Begin(ctx, func(tx *store.Tx) error { return s.begin(tx, o) }); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the sandbox file %s: %w", o.Path, err), db.Close())
	}
	stopping := make(chan struct{})
	s.hurry = sync.OnceFunc(func() { close(stopping) })
	s.server = &server.Server{DB: db, Keys: s.keys, Recorder: s.recorder, Counters: behavior.NewCounters(), Logger: o.Logger, Stopping: stopping}
	s.handler = s.server.Handler(slices.Concat(
		card.Routes(), transaction.Routes(), wallet.Routes(), threeds.Routes(), webhook.Routes(o.PlainWebhooks), o.Routes,
	))
	s.worker = webhook.StartWorker(webhook.WorkerOptions{
		DB: db, Logger: o.Logger, Roots: roots, Timeout: o.WebhookTimeout, PublicOnly: o.PublicWebhooks,
	})
	return s, nil
}

// begin reads the master key and the first account's key, or makes them.
func (s *Sandbox) begin(tx *store.Tx, o Options) (err error) {
	var master []byte
	found, err := tx.Get([]any{&master}, `SELECT master_key FROM service`)
	if err == nil && !found {
		master = vault.NewMasterKey()
		err = tx.Exec(`INSERT INTO service (id, master_key, initial_balance) VALUES (1, ?, ?)`, master, o.InitialBalance)
	}
	if err != nil {
		return err
	}
	if s.keys, err = vault.New(master); err != nil {
		return err
	}
	if !found {
		if err := account.CreateFirst(tx, s.keys, o.APIKey, o.InitialBalance); err != nil {
			return err
		}
	}
	if s.first, err = account.First(tx); err != nil {
		return err
	}
	s.apiKey, err = account.Key(tx, s.keys, s.first.PublicID)
	if err == nil && o.APIKey != "" && o.APIKey != s.apiKey {
		return errors.New("it was begun with another API key; leave the key out, or choose another path")
	}
	return err
}

// Handler serves the API under /api/v1, what the outside world does to it under /_sandbox,
// and the further routes.
// Where a fault cuts a response off, it panics with
// http.ErrAbortHandler after it wrote what the caller is to see, if anything.
func (s *Sandbox) Handler() http.Handler { return s.handler }

// Server runs calls of the service and of the further routes without a request.
func (s *Sandbox) Server() *server.Server { return s.server }

// FirstAccount returns the file's first account.
func (s *Sandbox) FirstAccount() account.Account { return s.first }

// APIKey returns the first account's key, the same at each opening of a file.
func (s *Sandbox) APIKey() string { return s.apiKey }

// Path is the file's absolute path.
func (s *Sandbox) Path() string { return s.db.Path() }

// Created tells whether Open made the file.
func (s *Sandbox) Created() bool { return s.db.Created() }

// EndDelays has calls that a fault delays go on at once, since the service is to stop.
func (s *Sandbox) EndDelays() { s.hurry() }

// Close ends the service. Requests should have ended before. Events that are
// not delivered then are delivered when the file is opened again.
func (s *Sandbox) Close() error {
	s.hurry()
	s.worker.Close()
	return errors.Join(s.recorder.Close(), s.db.Close())
}
