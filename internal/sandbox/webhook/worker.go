package webhook

import (
	"context"
	"crypto/x509"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/crash"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
)

const (
	// perEndpoint is the maximum number of concurrent deliveries to one endpoint.
	perEndpoint = 8
	// maxInFlight is the maximum number of concurrent deliveries to all endpoints.
	maxInFlight = 256
	// pollInterval is how long a worker waits at most before it looks for due deliveries again.
	pollInterval = 250 * time.Millisecond
	// shutdownTime is how long deliveries in flight may take after a call of Close.
	shutdownTime = 500 * time.Millisecond
)

// WorkerOptions are the settings of a worker.
type WorkerOptions struct {
	DB      *store.DB
	Logger  *slog.Logger
	Roots   *x509.CertPool // the authorities of endpoints' certificates; nil for the system's
	Timeout time.Duration  // how long an endpoint may take to answer; 0 for defaultTimeout
	// PublicOnly makes deliveries to this machine and to private networks fail.
	PublicOnly bool
}

// Worker delivers the events of the outbox to their endpoints while its DB is the leader.
type Worker struct {
	db      *store.DB
	logger  *slog.Logger
	sender  sender
	results chan result   // has room for all deliveries in flight, so that no sender waits
	stop    chan struct{} // closed by Close
	stopped chan struct{} // closed when run returns

	// Only the goroutine of run uses the following fields.
	inFlight   map[string]string // ids of endpoints by ids of deliveries
	lastPruned time.Time         // the real time when prune last deleted all old deliveries
	unrecorded []result          // results that are not in the file yet
}

// result is a delivery that was sent, with its outcome.
type result struct {
	delivery *dueDelivery
	outcome  outcome
}

// StartWorker starts a worker. Close it before you close the file.
func StartWorker(o WorkerOptions) *Worker {
	w := &Worker{
		db:       o.DB,
		logger:   o.Logger,
		sender:   newSender(o),
		results:  make(chan result, maxInFlight),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
		inFlight: map[string]string{},
	}
	go w.run()
	return w
}

// Close stops the worker. It gives deliveries in flight shutdownTime to finish, and interrupts those that take longer.
// They stay due, so a later worker sends them again.
func (w *Worker) Close() {
	close(w.stop)
	<-w.stopped
}

// run polls until Close is called.
func (w *Worker) run() {
	defer crash.ExitOnPanic()
	defer close(w.stopped)
	ctx, cancel := context.WithCancel(context.Background()) // for all deliveries in flight
	tick := time.Tick(pollInterval)
	for {
		w.poll(ctx)
		select {
		case <-w.stop:
			time.AfterFunc(shutdownTime, cancel)
			w.shutDown()
			return
		case <-tick:
		case <-w.db.Signals():
		case r := <-w.results:
			w.complete(r)
		}
	}
}

// poll records the results so far and starts to send the deliveries that are due, if the worker's DB leads.
func (w *Worker) poll(ctx context.Context) {
	for len(w.results) > 0 { // so that one transaction records several results
		w.complete(<-w.results)
	}
	due, err := w.recordAndSelect(ctx)
	if err != nil {
		level := slog.LevelError
		if errors.Is(err, store.ErrBusy) {
			level = slog.LevelWarn
		}
		w.logger.Log(ctx, level, "could not read or update the outbox; trying again", "error", err)
		return
	}
	for _, d := range due {
		w.inFlight[d.ID] = d.Target.WebhookID
		go func() {
			o := w.sender.send(ctx, d)
			w.results <- result{delivery: d, outcome: o}
		}()
	}
}

// recordAndSelect records the results so far and returns the deliveries to send. If the worker's DB does not lead, it does
// nothing and returns nil.
func (w *Worker) recordAndSelect(ctx context.Context) ([]*dueDelivery, error) {
	leads, err := w.db.TryToLead()
	if err != nil {
		return nil, err
	}
	if !leads {
		return nil, nil
	}
	// The interval is in real time, because the service's clock can be moved.
	mustPrune := time.Since(w.lastPruned) >= pruneInterval
	if len(w.unrecorded) > 0 || mustPrune {
		pruned := false // whether all old deliveries are deleted; if not, the next poll continues
		err = w.db.Write(ctx, func(tx *store.Tx) error {
			err := w.recordResults(tx)
			if err != nil || !mustPrune {
				return err
			}
			pruned, err = prune(tx)
			return err
		})
		if err != nil {
			return nil, err
		}
		w.unrecorded = nil
		if pruned {
			w.lastPruned = time.Now()
		}
	}
	var due []*dueDelivery
	err = w.db.Read(ctx, func(tx *store.Tx) error {
		var err error
		due, err = w.selectDue(tx)
		return err
	})
	return due, err
}

// complete removes a delivery from those in flight. Unless the attempt was interrupted, it logs the result and keeps it to
// be recorded.
func (w *Worker) complete(r result) {
	d := r.delivery
	o := r.outcome
	delete(w.inFlight, d.ID)
	if o.interrupted {
		return
	}
	w.unrecorded = append(w.unrecorded, r)
	attributes := []any{
		"delivery", d.ID, "event", d.EventID, "type", d.Event, "webhook", d.Target.WebhookID,
		"status", o.status, "duration", o.duration,
	}
	if o.failure == "" {
		w.logger.Info("delivered an event", attributes...)
	} else {
		w.logger.Warn("could not deliver an event", append(attributes, "error", o.failure)...)
	}
}

// shutDown waits for the deliveries in flight and records the results that are not in the file yet.
func (w *Worker) shutDown() {
	for len(w.inFlight) > 0 {
		w.complete(<-w.results)
	}
	w.sender.client.CloseIdleConnections()
	if len(w.unrecorded) == 0 {
		return
	}
	err := w.db.Write(context.Background(), w.recordResults)
	if err != nil {
		w.logger.Error("could not record the last deliveries; they will be repeated", "error", err)
	}
}

// retryDelays returns the time from each failure to the next attempt. After one more failure, the worker gives up.
func retryDelays() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
}

// recordResults writes the unrecorded results to the file.
func (w *Worker) recordResults(tx *store.Tx) error {
	for _, r := range w.unrecorded {
		err := r.record(tx)
		if err != nil {
			return err
		}
	}
	return nil
}

// record writes an attempt and the new state of its delivery to the file. If the delivery was deleted meanwhile, it writes
// nothing. If a redelivery was requested meanwhile, it writes only the attempt.
func (r result) record(tx *store.Tx) error {
	d := r.delivery
	o := r.outcome
	var (
		id       int64
		round    int64
		failures int
	)
	found, err := tx.Get([]any{&id, &round, &failures}, `SELECT id, round, failures FROM deliveries WHERE public_id = ?`, d.ID)
	if err != nil {
		return err
	}
	if !found { // the delivery was deleted, for example with its endpoint
		return nil
	}
	err = tx.Exec(`
		INSERT INTO delivery_tries (delivery_id, time, status, error, duration_ms, response)
		VALUES (?, ?, NULLIF(?, 0), NULLIF(?, ''), ?, ?)`,
		id, d.started.UnixMilli(), o.status, o.failure, o.duration.Milliseconds(), o.response)
	if err != nil {
		return err
	}
	if round != d.Round { // the attempt started before a redelivery was requested
		return nil
	}
	var due sql.NullInt64 // null if no attempt follows
	state := Delivered
	if o.failure != "" {
		delays := retryDelays()
		if failures < len(delays) {
			state = Pending // shown as Retrying
			due = sql.NullInt64{Int64: tx.Now().Add(delays[failures]).UnixMilli(), Valid: true}
		} else {
			state = Failed
		}
		failures++
	}
	return tx.Exec(`UPDATE deliveries SET failures = ?, state = ?, due_at = ? WHERE id = ?`, failures, state, due, id)
}
