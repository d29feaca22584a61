package card_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// loses is the service behind a network that loses the response to the first
// issue, and by the clock of which it is later than by its cards.
func (m *money) loses(ahead time.Duration) *acctest.Service {
	var lost atomic.Bool
	return m.s.Proxy(func(w http.ResponseWriter, r *http.Request) bool {
		response := forward(m.s, r)
		if isCall(r, http.MethodPost, "/cards") && !lost.Swap(true) {
			panic(http.ErrAbortHandler)
		}
		now, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			m.t.Error(err)
		}
		response.Header.Set("Date", now.Add(ahead).Format(http.TimeFormat))
		relay(w, response, response.Status, response.Raw)
		return true
	})
}

// A card that looks older than its request by clocks that differ may be its own:
// nothing is issued beside it.
func TestCardThatIsTooOldByTheClock(t *testing.T) {
	t.Parallel()
	withMoneyInEachKeyMode(t, func(m *money) {
		m.through(m.loses(200 * time.Second))
		m.w.Write("main.tf", oneCard("amount = 60\n  label = \"search\""))
		if code, output := m.w.Run("apply", "-no-color", "-auto-approve"); code != 0 {
			prints(m.t, output, "it is not known whether this took effect", "terraform import <address> "+onlyCard(m.s).ID)
		}
		serviceHolds(m.t, m.s, "active", 60*usd.Dollar, 9939*usd.Dollar)
	})
}

// A list may be later than the wait for a lost response.
func TestCardThatIsListedAfterTheWait(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"written label": "\n  label = \"search\"", "generated label": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withMoneyInEachKeyMode(t, func(m *money) {
				m.s.AddQuirks(object{"cards_hidden_seconds": 45})
				m.through(m.loses(0))
				m.apply("amount = 60" + label)
				m.s.Advance("1m") // for what the test itself reads
				serviceHolds(m.t, m.s, "active", 60*usd.Dollar, 9939*usd.Dollar)
				plansNothing(m.t, m.w)
			})
		})
	}
}
