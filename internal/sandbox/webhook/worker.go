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
	// perEndpoint is how many deliveries to one endpoint run side by side.
	perEndpoint = 8
	// maxInFlight is the same for all endpoints together: each takes a connection.
	maxInFlight = 256
	// pollInterval is how late a worker may notice that a time has come, or
	// what another process did.
	pollInterval = 250 * time.Millisecond
	// shutdownTime is how long running deliveries may take once Close is called.
	shutdownTime = 500 * time.Millisecond
)

// WorkerOptions says how to deliver.
type WorkerOptions struct {
	DB      *store.DB
	Logger  *slog.Logger
	Roots   *x509.CertPool // the authorities that endpoints' certificates may come from; nil: the system's
	Timeout time.Duration  // how long an endpoint may take to answer; 0 is 15 s
	// PublicOnly refuses endpoints whose address is this machine's or its network's.
	PublicOnly bool
}

// Worker brings the events of the outbox to their endpoints while it runs. Of
// several on one file, in one process or many, one does; the others keep ready.
type Worker struct {
	db      *store.DB
	logger  *slog.Logger
	sender  sender
	results chan result
	stop    chan struct{}
	stopped chan struct{}

	// What follows belongs to the goroutine of run.
	inFlight   map[string]string // the endpoints' ids by those of the deliveries
	pruned     time.Time
	unrecorded []result // not in the file yet
}

type result struct {
	*delivery
	outcome
}

// StartWorker begins to deliver. Close the worker before the file.
func StartWorker(o WorkerOptions) *Worker {
	w := &Worker{
		db: o.DB, logger: o.Logger, sender: newSender(o),
		results: make(chan result, maxInFlight), stop: make(chan struct{}), stopped: make(chan struct{}),
		inFlight: map[string]string{},
	}
	go w.run()
	return w
}

// Close stops the worker and returns when no goroutine of it is left. What is
// in flight then, and not answered soon, is delivered again another time.
func (w *Worker) Close() {
	close(w.stop)
	<-w.stopped
}

func (w *Worker) run() {
	defer crash.End()
	defer close(w.stopped)
	ctx, cancel := context.WithCancel(context.Background()) // of all that is in flight
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

// poll records the results so far and sends what is due, unless another worker does.
func (w *Worker) poll(ctx context.Context) {
	for len(w.results) > 0 { // all that are there, for one transaction
		w.complete(<-w.results)
	}
	due, err := w.work(ctx)
	if err != nil {
		level := slog.LevelError
		if errors.Is(err, store.ErrBusy) {
			level = slog.LevelWarn
		}
		w.logger.Log(ctx, level, "the outbox could not be worked on", "error", err)
		return
	}
	for _, d := range due {
		w.inFlight[d.ID] = d.Target.WebhookID
		go func() { w.results <- result{d, w.sender.send(ctx, d)} }()
	}
}

// work records the results so far, and returns what is to be sent.
func (w *Worker) work(ctx context.Context) (due []*delivery, err error) {
	if lead, err := w.db.Lead(); err != nil || !lead {
		return nil, err
	}
	if len(w.unrecorded) > 0 || time.Since(w.pruned) >= pruneInterval {
		err := w.db.Write(ctx, func(tx *store.Tx) error {
			if err := w.record(tx); err != nil {
				return err
			}
			return w.prune(tx)
		})
		if err != nil {
			return nil, err
		}
		w.unrecorded = nil
	}
	err = w.db.Read(ctx, func(tx *store.Tx) (err error) {
		due, err = w.due(tx)
		return err
	})
	return due, err
}

func (w *Worker) complete(r result) {
	delete(w.inFlight, r.ID)
	if r.interrupted {
		return
	}
	w.unrecorded = append(w.unrecorded, r)
	attributes := []any{
		"delivery", r.ID, "event", r.EventID, "type", r.Event, "webhook", r.Target.WebhookID,
		"status", r.status, "duration", r.took,
	}
	if r.failure == "" {
		w.logger.Info("an event was delivered", attributes...)
	} else {
		w.logger.Warn("an event was not delivered", append(attributes, "error", r.failure)...)
	}
}

func (w *Worker) shutDown() {
	for len(w.inFlight) > 0 {
		w.complete(<-w.results)
	}
	w.sender.client.CloseIdleConnections()
	if len(w.unrecorded) == 0 {
		return
	}
	if err := w.db.Write(context.Background(), w.record); err != nil {
		w.logger.Error("the last deliveries could not be recorded and will be repeated", "error", err)
	}
}

// retryDelays are how long after each failure the next try comes. After the last one there is none.
func retryDelays() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour,
	}
}

func (w *Worker) record(tx *store.Tx) error {
	for _, r := range w.unrecorded {
		if err := r.record(tx); err != nil {
			return err
		}
	}
	return nil
}

func (r result) record(tx *store.Tx) error {
	var (
		row, round int64
		failures   int
	)
	found, err := tx.Get([]any{&row, &round, &failures}, `SELECT id, round, failures FROM deliveries WHERE public_id = ?`, r.ID)
	if err != nil || !found { // the service was reset meanwhile
		return err
	}
	err = tx.Exec(`
		INSERT INTO delivery_tries (delivery_id, time, status, error, duration_ms, response)
		VALUES (?, ?, NULLIF(?, 0), NULLIF(?, ''), ?, ?)`,
		row, r.begun.UnixMilli(), r.status, r.failure, r.took.Milliseconds(), r.response)
	if err != nil || round != r.Round { // a try of an earlier round decides nothing
		return err
	}
	var due sql.NullInt64
	state := Delivered
	if r.failure != "" {
		state = Failed
		if delays := retryDelays(); failures < len(delays) {
			state, due = Pending, sql.NullInt64{Int64: tx.Now().Add(delays[failures]).UnixMilli(), Valid: true}
		}
		failures++
	}
	return tx.Exec(`UPDATE deliveries SET failures = ?, state = ?, due_at = ? WHERE id = ?`, failures, state, due, row)
}
