package session_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/session"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// purse is a session with a service whose wallet and cards hold this, and how often the
// wallet was read. It cannot be read where it holds "".
func purse(t *testing.T, wallet, cards string) (*session.Session, *atomic.Int32) {
	t.Helper()
	reads := new(atomic.Int32)
	return against(t, func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		if wallet == "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error": "forbidden", "message": "not with this key"}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"balance": %s, "currency": "USDT", "pending_deposits": 0.00, "cards_active": "many", "cards_total_balance": %s}`, wallet, cards)
	}), reads
}

// What a plan takes from the wallet is said once, and again when what may be payable
// turns out not to be as more is planned.
func TestWalletDiagnostic(t *testing.T) {
	t.Parallel()
	type step struct {
		taken usd.Amount
		says  string
	}
	const unread = "not checked against the wallet"
	for name, test := range map[string]struct {
		wallet, cards string
		steps         []step
		reads         int32
	}{
		"nothing is planned": {"100.00", "0.00", nil, 0},
		"nothing is moved":   {"", "", []step{{0, ""}}, 0},
		"one cent over it":   {"100.00", "0.00", []step{{100_00, ""}, {1, "at least 100.01 USD from a wallet that holds 100.00 USD"}}, 1},
		"it becomes certain": {"100.00", "50.00", []step{{120_00, "may not be payable: it takes at least 120.00 USD"}, {40_00, "takes at least 160.00 USD"}}, 1},
		"it cannot be read":  {"", "", []step{{100_00, unread + ". Could not see whether the wallet can pay for this plan. "}, {100_00, ""}}, 1},
		"it is no number":    {`"many"`, "0.00", []step{{1, unread}}, 1},
		"it is too much":     {"1e18", "0.00", []step{{1, unread}}, 1},
		"the cards lack":     {"100.00", "null", []step{{100_00, ""}, {1, "cards_total_balance missing"}, {1, ""}}, 1},
	} {
		s, reads := purse(t, test.wallet, test.cards)
		refusing, _ := purse(t, test.wallet, test.cards)
		refusing.WalletCheck = session.WalletCheckError
		if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
			t.Errorf("%s: says %v before there is a plan", name, diags)
		}
		for _, step := range test.steps {
			if diags := s.AddPlannedSpend(step.taken, 0, 0); len(diags) != 0 {
				t.Errorf("%s: adding says %v", name, diags)
			}
			diags := s.WalletDiagnostic(t.Context())
			said := ""
			for _, one := range diags {
				said += one.Summary() + ". " + one.Detail()
			}
			if (said == "") != (step.says == "") || !strings.Contains(said, step.says) {
				t.Errorf("%s: says %v, want %q", name, diags, step.says)
			}
			if diags := s.WalletDiagnostic(t.Context()); len(diags) != 0 {
				t.Errorf("%s: said again: %v", name, diags)
			}
			refusing.AddPlannedSpend(step.taken, 0, 0)
			refuses := step.says != "" && !strings.Contains(step.says, "may not")
			if refused := refusing.WalletDiagnostic(t.Context()).HasError(); diags.HasError() || refused != refuses {
				t.Errorf("%s: refuses where it is to warn: %t; and else: %t", name, diags.HasError(), refused)
			}
		}
		if n := reads.Load(); n != test.reads {
			t.Errorf("%s: the wallet was read %d times, want %d", name, n, test.reads)
		}
	}
}

// A card's balance leaves what may still return at the moment at which what does
// return of it is counted, or a plan made beside it finds neither.
func TestBalancesAreNeverCountedOutBeforeTheyReturn(t *testing.T) {
	t.Parallel()
	for range 200 {
		s, _ := purse(t, "0.00", "100.00")
		s.WalletCheck = session.WalletCheckError
		var beside sync.WaitGroup
		beside.Go(func() { s.AddPlannedSpend(0, 100_00, 100_00) })
		s.AddPlannedSpend(100_00, 0, 0)
		if diags := s.WalletDiagnostic(t.Context()); diags.HasError() {
			t.Fatalf("what can be paid is refused: %v", diags)
		}
		beside.Wait()
	}
}
