// Package served extends package sandbox with further control calls, seeding and the dashboard. It is separate, so that
// a program can embed package sandbox without them.
package served

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/control"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/dashboard"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/seed"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
)

// Options are the options of Open.
type Options struct {
	sandbox.Options

	Seed []byte // the world to create in an unused file, as a document of package seed; nil for none
}

// Sandbox is an open sandbox with further control calls and the dashboard.
type Sandbox struct {
	*sandbox.Sandbox

	wallClock func() time.Time // returns the real time
	keys      []string         // see Keys
}

// Routes returns the routes that Open adds to those of the options.
func Routes() []server.Route { return slices.Concat(control.Routes(), seed.Routes()) }

// Open opens the sandbox in a file, or creates the file. With a seed, Open also creates its world. It then fails
// if the file already contains more than a new sandbox does, such as cards or webhooks. The caller must close the sandbox.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Routes = slices.Concat(o.Routes, Routes())
	opened, err := sandbox.Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{Sandbox: opened, wallClock: o.Clock}
	if o.Seed == nil {
		return s, nil
	}
	err = s.seed(ctx, o.Seed)
	if err != nil {
		return nil, errors.Join(err, opened.Close()) //nolint:contextcheck // closing must not be cancelled
	}
	return s, nil
}

// seed creates a world and keeps the API keys of its accounts.
func (s *Sandbox) seed(ctx context.Context, world []byte) error {
	call := server.Operation{Route: http.MethodPost + " " + seed.Path, Body: world}
	response, refused := s.Server().Do(ctx, s.FirstAccount(), call)
	if refused != nil {
		return fmt.Errorf("the world cannot be seeded: %s", refused.Message)
	}
	var created seed.Created
	err := json.Unmarshal(response.Body, &created)
	if err != nil {
		return fmt.Errorf("the API keys of the seeded accounts cannot be read: %w", err)
	}
	for _, account := range created.Accounts {
		s.keys = append(s.keys, account.APIKey)
	}
	return nil
}

// Keys returns the API keys of the accounts that Open seeded, in the order of the document.
func (s *Sandbox) Keys() []string { return s.keys }

// Dashboard returns a handler that serves the dashboard and passes other requests to Handler. address is the server's,
// such as http://127.0.0.1:8420. names are other host names under which browsers may reach the server.
func (s *Sandbox) Dashboard(address string, names ...string) (*dashboard.Dashboard, error) {
	return dashboard.New(dashboard.Options{
		Server:         s.Server(),
		FirstAccountID: s.FirstAccount().ID,
		Next:           s.Handler(),
		Address:        address,
		Names:          names,
		Now:            s.wallClock,
	})
}
