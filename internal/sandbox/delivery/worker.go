// Package delivery brings the events of the outbox to their endpoints, and
// shows what became of them.
package delivery

import (
	"context"
	"crypto/x509"
	"log/slog"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/vault"
)

const (
	// perEndpoint is how many deliveries to one endpoint run side by side.
	// Endpoints do not share this room, so none waits for another.
	perEndpoint = 8
	// pollInterval is how late a worker may notice that a time has come, or
	// what another process did.
	pollInterval = 250 * time.Millisecond
	// landingTime is how long running deliveries may take once Close is called.
	landingTime = 500 * time.Millisecond
)

// Options says how to deliver.
type Options struct {
	DB      *store.DB
	Keys    *vault.Keyring
	Logger  *slog.Logger
	Roots   *x509.CertPool // the authorities that endpoints' certificates may come from; nil: the system's
	Timeout time.Duration  // how long an endpoint may take to answer; 0 is 15 s
}

// Worker delivers while it runs. Several may work on one file, in one process
// or many: each delivery is leased by one of them at a time.
type Worker struct {
	db      *store.DB
	logger  *slog.Logger
	sender  sender
	name    string // of the leases
	landed  chan landing
	stop    chan struct{}
	stopped chan struct{}
	ground  context.CancelFunc // ends every flight

	// What follows belongs to the goroutine of run.
	airborne map[string]string // deliveries on their way: their ids, and their endpoints'
	unbooked []landing         // not in the file yet
	renewed  int64             // when the leases were, in Unix milliseconds
}

// landing is a flight that has ended.
type landing struct {
	flight
	outcome
}

// Start begins to deliver. Close the worker before the file.
func Start(o Options) *Worker {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Worker{
		db: o.DB, logger: o.Logger, sender: newSender(o), name: vault.Token("lease_"),
		landed: make(chan landing), stop: make(chan struct{}), stopped: make(chan struct{}), ground: cancel,
		airborne: map[string]string{},
	}
	go w.run(ctx)
	return w
}

// Close stops the worker and returns when no goroutine of it is left. What is
// on its way then, and not answered soon, is delivered again another time.
func (w *Worker) Close() {
	close(w.stop)
	<-w.stopped
}

func (w *Worker) run(ctx context.Context) {
	defer close(w.stopped)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		w.turn(ctx)
		select {
		case <-w.stop:
			w.land()
			return
		case <-poll.C:
		case <-w.db.Signals():
		case l := <-w.landed:
			w.note(l)
		}
	}
}

// turn books what has landed and sends off what is due, in one transaction.
// When that fails, the next turn tries again.
func (w *Worker) turn(ctx context.Context) {
	w.noteWaiting()
	var due []flight
	err := w.db.Write(ctx, func(tx *store.Tx) (err error) {
		if err := w.book(tx); err != nil {
			return err
		}
		if err := w.renew(tx); err != nil {
			return err
		}
		due, err = w.lease(tx)
		return err
	})
	if err != nil {
		w.logger.Error("the outbox could not be worked on", "error", err)
		return
	}
	w.unbooked = nil
	for _, f := range due {
		w.airborne[f.deliveryID] = f.webhookID
		go func() { w.landed <- landing{f, w.sender.send(ctx, f)} }()
	}
}

func (w *Worker) note(l landing) {
	delete(w.airborne, l.deliveryID)
	w.unbooked = append(w.unbooked, l)
	about := []any{
		"delivery", l.deliveryID, "event", l.eventID, "type", l.kind, "webhook", l.webhookID,
		"status", l.status, "duration", l.took,
	}
	switch {
	case l.interrupted:
	case l.failure == "":
		w.logger.Info("an event was delivered", about...)
	default:
		w.logger.Warn("an event was not delivered", append(about, "error", l.failure)...)
	}
}

// noteWaiting notes all that has landed already, so that one transaction
// serves many.
func (w *Worker) noteWaiting() {
	for {
		select {
		case l := <-w.landed:
			w.note(l)
		default:
			return
		}
	}
}

// land lets running deliveries end and books them.
func (w *Worker) land() {
	defer w.ground()
	patience := time.AfterFunc(landingTime, w.ground)
	defer patience.Stop()
	for len(w.airborne) > 0 {
		w.note(<-w.landed)
	}
	if err := w.db.Write(context.Background(), w.book); err != nil {
		w.logger.Error("the last deliveries could not be booked and will be repeated", "error", err)
	}
	w.sender.client.CloseIdleConnections()
}
