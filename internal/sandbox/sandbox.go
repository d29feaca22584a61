// Package sandbox is a complete virtual-card service in one SQLite file,
// behind one http.Handler: for trying things out, and for tests.
package sandbox

import (
	"context"
	"encoding/json"
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
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/dashboard"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/requestlog"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/seed"
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
	Seed           []byte           // a world to begin an unused file with; see package seed
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
	wall     func() time.Time
	begun    seed.Begun
	hurry    func() // ends the delays of faults
}

// Open opens the service in a file, or begins one, and delivers its events until Close. The
// error says what is wrong with the path or the options, and never holds a key.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if o.InitialBalance < 0 {
		return nil, errors.New("the sandbox's initial balance must not be negative")
	}
	if o.APIKey != "" && !strings.HasPrefix(o.APIKey, vault.KeyPrefix) {
		return nil, fmt.Errorf("a sandbox's API key begins with %s; a real key has no place in it", vault.KeyPrefix)
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
	s := &Sandbox{db: db, recorder: requestlog.New(db, o.Logger), wall: o.Clock}
	if err := db.Begin(ctx, func(tx *store.Tx) error { return s.begin(tx, o) }); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the sandbox file %s: %w", o.Path, err), db.Close())
	}
	stopping := make(chan struct{})
	s.hurry = sync.OnceFunc(func() { close(stopping) })
	s.server = &server.Server{DB: db, Keys: s.keys, Recorder: s.recorder, Counters: behavior.NewCounters(), Logger: o.Logger, Stopping: stopping}
	nouns := slices.Concat(card.Routes(), transaction.Routes(), wallet.Routes(), threeds.Routes(), webhook.Routes(o.PlainWebhooks))
	s.handler = s.server.Handler(slices.Concat(nouns, control.Routes(s.recorder), seed.Routes()))
	if o.Seed != nil {
		if err := s.beginWorld(ctx, o.Seed); err != nil {
			return nil, errors.Join(err, s.recorder.Close(), db.Close())
		}
	}
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

func (s *Sandbox) beginWorld(ctx context.Context, world []byte) error {
	response, refused := s.server.Do(ctx, s.first, server.Operation{Route: http.MethodPost + " " + seed.Path, Body: world})
	if refused != nil {
		return fmt.Errorf("the world cannot be seeded: %s", refused.Message)
	}
	return json.Unmarshal(response.Body, &s.begun)
}

// Keys returns the keys of the accounts that a seed has begun, in its order.
func (s *Sandbox) Keys() (keys []string) {
	for _, a := range s.begun.Accounts {
		keys = append(keys, a.APIKey)
	}
	return keys
}

// Handler serves the API under /api/v1 and the control calls under /_sandbox.
// Where a fault cuts a response off, it panics with
// http.ErrAbortHandler after it wrote what the caller is to see, if anything.
func (s *Sandbox) Handler() http.Handler { return s.handler }

// Dashboard serves the web page at every path that Handler has nothing at, and
// Handler at the others. The address is where it will be served, as in
// http://127.0.0.1:8420; names are other names of the machine there.
func (s *Sandbox) Dashboard(address string, names ...string) (*dashboard.Dashboard, error) {
	return dashboard.New(dashboard.Options{Server: s.server, First: s.first.ID, Next: s.handler, Address: address, Names: names, Now: s.wall})
}

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
