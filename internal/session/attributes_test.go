package session_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/vcard/terraform-provider-vcard/internal/session"
)

func TestCardID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]struct{ reference, imported bool }{
		"card_9f2":                         {true, true},
		"card_a.b-c_d":                     {true, true},
		"card_Y2FyZA==":                    {true, true},
		"card_eu:1~a+b":                    {true, true},
		"4iahoy8o":                         {true, false}, // of a mocked provider
		"9f2b6a52-1f3c-4a35-9f4e-0d6d6b1e": {true, false},
		"":                                 {false, false},
		"card_":                            {false, false},
		"..":                               {false, false},
		"card_1/details":                   {false, false},
		"card_1?x=1":                       {false, false},
		"card_1\n":                         {false, false},
		" card_1":                          {false, false},
		"wh_1":                             {false, false},
		"txn_1":                            {false, false},
		"3ds_1":                            {false, false},
		"bin_ads_visa_us":                  {false, false},
		"card_" + strings.Repeat("a", 300): {false, false},
	} {
		resp := validator.StringResponse{}
		session.CardID().ValidateString(t.Context(), validator.StringRequest{Path: path.Root("card_id"), ConfigValue: types.StringValue(id)}, &resp)
		if ok := !resp.Diagnostics.HasError(); ok != want.reference {
			t.Errorf("%q as a reference: accepted %v, want %v: %v", id, ok, want.reference, resp.Diagnostics)
		}
		if ok := session.IsCardID(id); ok != want.imported {
			t.Errorf("%q for an import: accepted %v, want %v", id, ok, want.imported)
		}
	}
}
