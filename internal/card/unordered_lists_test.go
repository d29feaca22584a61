package card_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/api"
)

// unordered lists active cards in another order in each response. With onePage, each page
// is the first one.
type unordered struct {
	cards   []json.RawMessage
	onePage bool

	mu sync.Mutex
	r  *rand.Rand
}

func (u *unordered) list(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.Path != "/api/v1/cards" {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	page, size := 1, api.MaxPerPage
	_, _ = fmt.Sscan(r.FormValue("page"), &page)
	_, _ = fmt.Sscan(r.FormValue("per_page"), &size)
	cards := append([]json.RawMessage{}, u.cards...)
	if r.FormValue("status") == "frozen" {
		cards = nil
	}
	total := len(cards)
	if u.onePage {
		page = 1
	} else {
		u.r.Shuffle(total, func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	}
	first := min((page-1)*size, total)
	_ = json.NewEncoder(w).Encode(object{"data": cards[first:min(first+size, total)], "page": page, "per_page": size, "total": total})
	return true
}

// A list in no fixed order is complete for every data source, or it is refused.
func TestAccListsWithoutOrder(t *testing.T) {
	t.Parallel()
	const cards = 150
	service := acctest.Start(t)
	service.Unlimited()
	lists := &unordered{r: rand.New(rand.NewPCG(1, 1))}
	for i := range cards {
		label := fmt.Sprintf("card %d", i)
		if i < 2 {
			label = "twin"
		}
		issue(service, object{"amount": 50, "label": label})
	}
	for page := 1; len(lists.cards) < cards; page++ {
		var listed struct {
			Data []json.RawMessage `json:"data"`
		}
		service.Get(fmt.Sprintf("/cards?per_page=100&page=%d", page)).Into(&listed)
		lists.cards = append(lists.cards, listed.Data...)
	}
	s := service.Proxy(lists.list)
	all := s.ProviderConfig() + `
		data "vcard_cards" "all" {}`
	twin := s.ProviderConfig() + `
		data "vcard_card" "twin" { label = "twin" }`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: all,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.vcard_cards.all", tfjsonpath.New("ids"), knownvalue.ListSizeExact(cards)),
				},
			},
			{
				Config:      twin,
				ExpectError: acctest.Error("Several live cards have this label", `"twin"`),
			},
			{
				PreConfig:   func() { lists.onePage = true },
				Config:      all,
				ExpectError: acctest.Error("Could not list the cards", "service counts 150 cards"),
			},
		},
	})
}
