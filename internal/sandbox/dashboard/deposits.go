package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
)

func depositActions() []action {
	const deposits = "POST " + server.Control + "/deposits"
	return []action{
		{
			name: "announce", route: deposits, texts: []string{"currency"}, numbers: []string{"amount"},
			done: "The deposit is pending. Confirm it to credit the wallet.",
		},
		{
			name: "confirm", route: deposits + "/{id}/confirm", texts: []string{"id"},
			done: "The deposit is confirmed and credited to the wallet.",
		},
	}
}

// depositList is the data of the page with the deposits.
type depositList struct {
	Addresses []wallet.DepositAddress
	Deposits  []*wallet.Deposit
}

func readDeposits(v *view) (any, error) {
	l := v.readList(pick("status", "pending", "confirmed"))
	newest, more, err := wallet.NewestDeposits(v.Tx, v.Server.Keys, v.Account, l.text("status"), l.page)
	if err != nil {
		return nil, err
	}
	l.setRows(len(newest), more)
	addresses := wallet.Addresses(v.Server.Keys, v.Account, wallet.AllCurrencies)
	return &depositList{Addresses: addresses, Deposits: newest}, nil
}
