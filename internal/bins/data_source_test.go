package bins_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/acctest"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
)

type object = acctest.Object

func TestFilters(t *testing.T) {
	t.Parallel()
	s := acctest.Start(t, contract.RequestsOnly())
	s.AddQuirks(object{"wallet_fields": []string{"orchard_pay", "robot_pay"}}) // which each service names
	p := s.Protocol(nil)
	all := s.Get("/bins").Data()
	for name, c := range map[string]struct{ filter, shows object }{
		"none":        {object{}, object{}},
		"network":     {object{"network": "mastercard"}, object{"network": "mastercard"}},
		"category":    {object{"category": "general"}, object{"category": "general"}},
		"with 3DS":    {object{"three_ds": true}, object{"3ds": true}},
		"no 3DS":      {object{"three_ds": false}, object{"3ds": false}},
		"all":         {object{"network": "visa", "category": "ads", "three_ds": true}, object{"network": "visa", "category": "ads", "3ds": true}},
		"in capitals": {object{"network": "Visa", "category": "ADS"}, object{"network": "visa", "category": "ads"}},
		"nowhere":     {object{"network": "other"}, object{"network": "other"}},
	} {
		got, diags := p.ReadDataSource("vcard_bins", c.filter)
		diags.Must(t)
		ids, bins := []any{}, []any{}
		for _, b := range all {
			passed := maps.Clone(b)
			if maps.Copy(passed, c.shows); !maps.Equal(passed, b) {
				continue
			}
			ids = append(ids, b["id"])
			bins = append(bins, object{
				"id": b["id"], "network": b["network"], "category": b["category"], "three_ds": b["3ds"],
				"wallets": object{"orchard_pay": b["orchard_pay"], "robot_pay": b["robot_pay"]},
			})
		}
		if told := strings.Contains(diags.Warnings(), "No BIN passes the filters: ids and bins are empty. The catalogue has 9 BINs, of the networks mastercard, visa and the categories"); told != (len(ids) == 0) {
			t.Errorf("%s: warns %q", name, diags.Warnings())
		}
		if !reflect.DeepEqual(got["ids"], any(ids)) || !reflect.DeepEqual(got["bins"], any(bins)) {
			t.Errorf("%s: read %v, want %v", name, got["bins"], bins)
		}
	}
	for _, filter := range []object{{"network": ""}, {"category": ""}} {
		if _, diags := p.ReadDataSource("vcard_bins", filter); !strings.Contains(diags.Errors(), "must not be empty") {
			t.Errorf("%v: %s", filter, diags.Errors())
		}
	}
	s.Fault(object{"method": "GET", "path": "/bins", "then": object{"status": 200, "body": `{"data":[]}`}})
	if _, diags := s.Protocol(nil).ReadDataSource("vcard_bins", object{}); !strings.HasSuffix(diags.Warnings(), "The service's catalogue is empty.") {
		t.Errorf("of an empty catalogue it says %q", diags.Warnings())
	}
}
