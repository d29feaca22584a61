package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/store"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wire"
)

// liveHeader marks the request of a page that is shown already.
const liveHeader = "X-Dashboard-Live"

// refreshInterval is how often a page is brought up to date because of the time alone.
const refreshInterval = 10 * time.Second

// liveVersion changes when a page may have.
func liveVersion(tx *store.Tx, now time.Time) (string, error) {
	version, err := tx.Version()
	return version + "." + strconv.FormatInt(now.UnixMilli()/refreshInterval.Milliseconds(), 36), err
}

// live tells a page that is shown whether it is up to date.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	var state struct {
		Version string `json:"version"`
		Now     string `json:"now"`
		Ended   bool   `json:"ended"` // the session
	}
	_, found := d.sessions.account(cookie(r))
	state.Ended = !found
	if found {
		refused := d.server.Read(r.Context(), func(tx *store.Tx) error {
			now, err := tx.Now()
			if err != nil {
				return err
			}
			state.Now = clock(now)
			state.Version, err = liveVersion(tx, now)
			return err
		})
		if refused != nil {
			http.Error(w, refused.Message, refused.Status)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.Encode(state)) // nobody to tell when the page was closed
}
