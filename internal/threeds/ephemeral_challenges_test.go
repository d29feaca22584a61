package threeds_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

type object = acctest.Object

const typeName = "vcard_3ds_challenges"

// challenge is one as the data source shows it while it is pending.
func challenge(s *acctest.Service, card, merchant string) object {
	made := s.Post("/_sandbox/3ds-challenges", object{"card_id": card, "merchant": merchant, "amount": 12.34}).Must()
	return object{
		"id": made.Text("id"), "card_id": card, "merchant": merchant, "amount": acctest.Number("12.34"),
		"otp": made.Text("otp"), "status": "pending", "expires_at": made.Text("expires_at"),
	}
}

// Only pending challenges have a code; a service may list settled ones too.
func TestFilters(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"honoured", "ignored"} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			s := acctest.Start(t, contract.RequestsOnly())
			s.AddQuirks(object{"challenge_status": filter})
			p := s.Protocol(nil)
			shows := func(filters object, want ...object) {
				t.Helper()
				result, diags := p.OpenEphemeral(typeName, filters)
				list, _ := result["challenges"].([]any)
				if diags.Errors() != "" || list == nil || len(list) != len(want) {
					t.Errorf("%v: %d challenges, want %d: %s", filters, len(list), len(want), diags.Errors())
					return
				}
				for i, one := range want {
					if !reflect.DeepEqual(list[i], any(one)) {
						t.Errorf("%v: challenge %v is not as the service shows it", filters, one["id"])
					}
				}
				if filters["status"] == nil && result["status"] != "pending" {
					t.Errorf("the status is %v", result["status"])
				}
			}
			card, another := s.Issue("50"), s.Issue("50")
			shows(object{})
			first, second, approved := challenge(s, card, "Search Ads"), challenge(s, another, "Social Ads"), challenge(s, card, "Display Ads")
			s.Post(fmt.Sprintf("/_sandbox/3ds-challenges/%s/complete", approved["id"]), object{"outcome": "approved"}).Must()
			approved["status"] = "approved"
			if filter == "ignored" { // then it is shown without its code, and a status that nobody has is not refused
				approved["otp"] = nil
				shows(object{"status": "authenticated"})
			}
			shows(object{}, second, first)
			shows(object{"card_id": another}, second)
			shows(object{"status": "approved"}, approved)
			shows(object{"card_id": another, "status": "approved"})
			s.Advance("6m")
			shows(object{})
			for _, one := range []object{first, second} {
				if code, _ := one["otp"].(string); strings.Contains(p.Log(), code) {
					t.Error("a one-time code came into the log")
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.TolerateBadRequests())
	s.AddQuirks(object{"challenge_status": "honoured"})
	p := s.Protocol(nil)
	for name, c := range map[string]struct {
		p       *acctest.Protocol
		filters object
		want    string
	}{
		"card id":          {p, object{"card_id": "3ds_1"}, "must be a card id"},
		"empty status":     {p, object{"status": ""}, "must not be empty"},
		"refused status":   {p, object{"status": "eaten"}, "answered 400 (invalid_request); its message is not shown, since it may hold a secret.\n\nCheck status"},
		"unknown provider": {acctest.Configure(t, object{"sandbox": acctest.Unknown}), object{}, "read the 3D Secure challenges, but they depend on values that are known only after apply"},
	} {
		if _, diags := c.p.OpenEphemeral(typeName, c.filters); !strings.Contains(diags.Errors(), c.want) {
			t.Errorf("%s: %q", name, diags.Errors())
		}
	}
}
