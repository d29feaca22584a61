package sandbox_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/process"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

// A file in which a bit has flipped is refused, or fails where it is damaged, or
// says that its ledger is not balanced, or shows every balance as it was.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	files := 200
	if testing.Short() {
		files = 20
	}
	s := start(t)
	for i := range 8 {
		id := s.Issue(fmt.Sprint(50 + i))
		s.settled(s.authorized(id, "20"), "15")
		s.Post("/api/v1/cards/"+id+"/fund", `{"amount":5}`, sandboxtest.IdempotencyKey, id).OK(200)
	}
	want := balances(t, s.Client)
	s.close()
	sound := read(t, s.path)
	random := rand.New(rand.NewPCG(1, 0))
	outcomes := map[string]int{}
	for range files {
		damaged := append([]byte(nil), sound...)
		at, bit := random.IntN(len(damaged)), random.IntN(8)
		damaged[at] ^= 1 << bit
		outcome, shown := openDamaged(t, written(t, damaged), want)
		if outcomes[outcome]++; outcome == "wrong" {
			t.Errorf("bit %d of byte %d: shows %q, was %q", bit, at, shown, want)
		}
	}
	t.Logf("%v", outcomes)
}

// balances are those of the wallet and of all cards, "" when they cannot be read
// or are not vouched for.
func balances(t *testing.T, c *sandboxtest.Client) string {
	t.Helper()
	all := ""
	for _, path := range []string{"/wallet/balance", "/cards?per_page=100", "/_sandbox/ledger"} {
		a := c.Send(t.Context(), http.MethodGet, path, nil)
		if a.Status != http.StatusOK {
			return ""
		}
		switch path {
		case "/_sandbox/ledger":
			if a.Body["balanced"] != true {
				return ""
			}
		case "/wallet/balance":
			all += a.Text("balance")
		default:
			for _, card := range a.Data() {
				all += fmt.Sprint(" ", card["balance"])
			}
		}
	}
	return all
}

func openDamaged(t *testing.T, path, want string) (outcome, shown string) {
	t.Helper()
	box, err := sandbox.Open(t.Context(), sandbox.Options{Path: path})
	if err != nil {
		return "refused", ""
	}
	defer func() { _ = box.Close() }() // what is damaged may fail here as well
	c := &sandboxtest.Client{
		Address: process.Address{URL: "http://sandbox/api/v1", Key: box.APIKey()}, T: t, Transport: sandboxtest.Direct(box.Handler()),
	}
	switch shown = balances(t, c); shown {
	case want:
		return "right", shown
	case "":
		return "noticed", shown
	}
	return "wrong", shown
}
