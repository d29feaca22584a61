package card_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

const bin = "bin_ads_visa_us"

// service is what the API says of one card.
type service struct {
	ID      string     `json:"id"`
	Status  string     `json:"status"`
	Balance usd.Amount `json:"balance"`
	Label   string     `json:"label"`
}

// issue issues a card as another user of the account would.
func issue(s *acctest.Service, body map[string]any) service {
	var issued service
	body["bin_id"] = bin
	s.Post("/cards", body).Into(&issued)
	return issued
}

// liveCards are the active and frozen cards at the service, newest first.
func liveCards(s *acctest.Service) []service {
	s.T.Helper()
	var live []service
	for number := 1; ; number++ {
		var page struct{ Data []service }
		if s.Get(fmt.Sprintf("/cards?per_page=100&page=%d", number)).Into(&page); len(page.Data) == 0 {
			return live
		}
		live = append(live, slices.DeleteFunc(page.Data, func(card service) bool { return card.Status == "terminated" })...)
	}
}

// object is what a configuration says.
type object = acctest.Object

func TestMain(m *testing.M) { sandboxtest.Run(m) }
