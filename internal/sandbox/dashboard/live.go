package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

const (
	// liveHeader marks the request of a page that is shown already.
	liveHeader = "X-Dashboard-Live"
	// refreshInterval is how often a page is brought up to date because of the time alone.
	refreshInterval = 10 * time.Second
	// watchInterval is how soon a page hears of a change.
	watchInterval = 250 * time.Millisecond
)

// liveVersion changes when a page may have.
func liveVersion(tx *store.Tx) (string, error) {
	version, err := tx.Version()
	return version + "." + strconv.FormatInt(tx.Now().UnixMilli()/refreshInterval.Milliseconds(), 36), err
}

// liveState is what a page that is shown needs to know to be up to date.
type liveState struct {
	Version string `json:"version"`
	Now     string `json:"now"`
}

// live tells a page of each change, as server-sent events, until it is closed or the
// session has ended.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // where there is a connection
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string) error {
		_ = connection.SetWriteDeadline(time.Now().Add(refreshInterval)) // as above
		if _, err := fmt.Fprint(w, event, "\n\n"); err != nil {
			return err
		}
		return connection.Flush()
	}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for last := ""; ; {
		if _, found := d.sessions.account(cookie(r)); !found {
			_ = send("event: ended\ndata:") // nobody to tell when the page was closed
			return
		}
		var state liveState
		refused := d.server.Read(r.Context(), func(tx *store.Tx) (err error) {
			state.Now = wire.Timestamp(tx.Now())
			state.Version, err = liveVersion(tx)
			return err
		})
		if refused != nil {
			return // the browser asks again
		}
		if state.Version != last && send("data: "+string(wire.Encode(state))) != nil {
			return
		}
		last = state.Version
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-d.closing:
			return
		}
	}
}

// Close ends what pages listen to, for which a server that shuts down would wait.
func (d *Dashboard) Close() { d.close() }
