package dashboard

import (
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/server"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/wallet"
)

func depositsPage() *page {
	const deposits = "POST " + server.Control + "/deposits"
	return &page{
		Path: "/deposits", Title: "Deposits", html: depositsHTML, read: readDeposits,
		actions: []action{
			{
				name: "announce", route: deposits, texts: "currency", numbers: "amount",
				done: "The coins are on their way. The wallet has them once the network confirms.",
			},
			{name: "confirm", route: deposits + "/{id}/confirm", texts: "id", done: "The deposit is confirmed: it is in the wallet."},
		},
	}
}

type depositList struct {
	Addresses []wallet.Address
	Deposits  []wallet.Deposit
}

func readDeposits(v *view) (any, error) {
	l := v.list(pick("status", "pending", "confirmed"))
	newest, more, err := wallet.Newest(v.Tx, v.Server.Keys, v.Account, l.text("status"), l.page)
	l.shows(len(newest), more)
	return &depositList{Addresses: wallet.Addresses(v.Server.Keys, v.Account, ""), Deposits: newest}, err
}
