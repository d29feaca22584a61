// Package served is the sandbox as a server offers it: with its control calls, a world to
// start with, and a dashboard. The provider embeds package sandbox, which has none of these.
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

// Options says which sandbox to open. Its own Routes are served as well.
type Options struct {
	sandbox.Options

	Seed []byte // the world that an unused file starts with, as package seed reads it; nil: none
}

// Sandbox is an open service with everything that a server offers.
type Sandbox struct {
	*sandbox.Sandbox

	clock func() time.Time
	keys  []string
}

// Routes returns the calls that a server has and the embedded service has not.
func Routes() []server.Route { return slices.Concat(control.Routes(), seed.Routes()) }

// Open opens the service in a file, or creates the file, and seeds it.
func Open(ctx context.Context, o Options) (*Sandbox, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Routes = slices.Concat(o.Routes, Routes())
	opened, err := sandbox.Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s := &Sandbox{Sandbox: opened, clock: o.Clock}
	if o.Seed == nil {
		return s, nil
	}
	if err := s.seed(ctx, o.Seed); err != nil {
		return nil, errors.Join(err, opened.Close()) //nolint:contextcheck // closing must not be cancelled
	}
	return s, nil
}

func (s *Sandbox) seed(ctx context.Context, world []byte) error {
	call := server.Operation{Route: http.MethodPost + " " + seed.Path, Body: world}
	response, refused := s.Server().Do(ctx, s.FirstAccount(), call)
	if refused != nil {
		return fmt.Errorf("the world cannot be seeded: %s", refused.Message)
	}
	var begun seed.Begun
	if err := json.Unmarshal(response.Body, &begun); err != nil {
		return err
	}
	for _, account := range begun.Accounts {
		s.keys = append(s.keys, account.APIKey)
	}
	return nil
}

// Keys returns the API keys of the accounts that Open has seeded, in the order of the seed.
func (s *Sandbox) Keys() []string { return s.keys }

// Dashboard returns a handler that serves the web page at every path that Handler does not
// serve. The address is where it will be served, such as http://127.0.0.1:8420; names are
// further host names of this machine.
func (s *Sandbox) Dashboard(address string, names ...string) (*dashboard.Dashboard, error) {
	return dashboard.New(dashboard.Options{
		Server:  s.Server(),
		First:   s.FirstAccount().ID,
		Next:    s.Handler(),
		Address: address,
		Names:   names,
		Now:     s.clock,
	})
}
