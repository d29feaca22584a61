package api_test

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// newSandboxClient returns a client of a new sandbox over real HTTP. Every
// exchange is checked against the wire contract.
func newSandboxClient(t *testing.T) *api.Client {
	t.Helper()
	service, err := sandbox.Open(t.Context(), sandbox.Options{Path: ":memory:", InitialBalance: 1000 * usd.Dollar})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(contract.Handler(t, service.Handler()))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := api.New(api.Config{BaseURL: server.URL + "/api/v1", APIKey: api.Secret(service.APIKey()), CommitWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestEndpointsOfACard(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := newSandboxClient(t)
	bins := must[[]api.Bin](t)(client.Bins(ctx))
	if len(bins) != 9 || len(bins[0].Wallets) != 2 || bins[0].Network == "" || bins[0].Category == "" {
		t.Fatalf("BINs %+v", bins)
	}
	limit, threshold := 400*usd.Dollar, 10*usd.Dollar
	issuance := must[api.Issuance](t)(client.IssueCard(ctx, api.IssueCardRequest{
		BinID: bins[0].ID, Amount: 75*usd.Dollar + 25*usd.Cent, Label: "campaign", SpendingLimit: &limit, AutoFreezeAt: &threshold,
		AllowedCategories: []string{"advertising"}, Metadata: map[string]string{"team": "growth"},
	}))
	card := issuance.Card
	switch {
	case issuance.Recovered, card.Balance != 7525, card.SpendingLimit != limit, card.AutoFreezeAt == nil || *card.AutoFreezeAt != threshold,
		!slices.Equal(card.AllowedCategories, []string{"advertising"}), card.Metadata["team"] != "growth", card.ExpiresAt == "", card.CreatedAt == "":
		t.Fatalf("issued %+v", issuance)
	}
	if got := must[api.CardSummary](t)(client.GetCard(ctx, card.ID)); got != card.CardSummary {
		t.Errorf("summary %+v, want %+v", got, card.CardSummary)
	}
	plain := must[api.Issuance](t)(client.IssueCard(ctx, api.IssueCardRequest{BinID: bins[1].ID, Amount: 50 * usd.Dollar}))
	if plain.Card.AutoFreezeAt != nil || len(plain.Card.Metadata) != 0 || plain.Card.SpendingLimit == 0 {
		t.Errorf("issued %+v", plain)
	}

	page := must[api.CardPage](t)(client.ListCards(ctx, api.CardFilter{}, api.Page{Number: 2, PerPage: 1}))
	if page.Page != 2 || page.PerPage != 1 || *page.Total != 2 || !slices.Equal(page.Data, []api.CardListItem{card.CardListItem}) {
		t.Errorf("page %+v", page)
	}
	var ids []string
	for item, err := range client.Cards(ctx, api.CardFilter{Status: api.StatusActive, BinID: bins[1].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, item.ID)
	}
	if !slices.Equal(ids, []string{plain.Card.ID}) {
		t.Errorf("filtered %q", ids)
	}

	details := must[api.CardDetails](t)(client.CardDetails(ctx, card.ID))
	if len(details.PAN) < 13 || !strings.HasSuffix(details.PAN.Reveal(), card.Last4) || len(details.CVV) != 3 || details.ExpMonth == 0 || details.ExpYear == 0 {
		t.Errorf("%v has the wrong shape", details)
	}
	funded := must[api.Transfer](t)(client.Move(ctx, move(card.ID, 20*usd.Dollar, nil)))
	wallet := 1000*usd.Dollar - card.Balance - 50*usd.Dollar - 2*usd.Dollar - 20*usd.Dollar
	checkTransfer(t, funded, api.Transfer{CardBalance: 9525, CardStatus: api.StatusActive}, wallet)
	withdrawn := must[api.Transfer](t)(client.Move(ctx, move(card.ID, -95*usd.Dollar, nil)))
	checkTransfer(t, withdrawn, api.Transfer{CardBalance: 25, CardStatus: api.StatusFrozen}, wallet+95*usd.Dollar)
	// The withdrawal crossed auto_freeze_at.
	if got := must[api.CardState](t)(client.UnfreezeCard(ctx, card.ID, nil)); got != (api.CardState{ID: card.ID, Status: api.StatusActive, Balance: 25}) {
		t.Errorf("unfrozen %+v", got)
	}
	for range 2 {
		if got := must[api.CardState](t)(client.FreezeCard(ctx, card.ID)); got != (api.CardState{ID: card.ID, Status: api.StatusFrozen, Balance: 25}) {
			t.Errorf("frozen %+v", got)
		}
	}
	want := api.Termination{ID: card.ID, Status: api.StatusTerminated, ReturnedToWallet: 25}
	for range 2 {
		if got := must[api.Termination](t)(client.TerminateCard(ctx, card.ID)); got != want {
			t.Errorf("terminated %+v, want %+v", got, want)
		}
		want.ReturnedToWallet, want.AlreadyTerminated = 0, true
	}
	if _, err := client.GetCard(ctx, "card_unknown"); !api.IsNotFound(err) {
		t.Errorf("an unknown card: %v", err)
	}
}

// checkTransfer compares the wallet by its amount, and all else.
func checkTransfer(t *testing.T, got, want api.Transfer, wallet usd.Amount) {
	t.Helper()
	if got.WalletBalance == nil || got.WalletBalance.String() != wallet.String() {
		t.Errorf("the wallet holds %s, want %s", got.WalletBalance, wallet)
	}
	got.WalletBalance = nil
	if got != want {
		t.Errorf("moved %+v, want %+v", got, want)
	}
}

func TestEndpointsOfTheAccount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := newSandboxClient(t)
	wallet := must[api.WalletBalance](t)(client.WalletBalance(ctx))
	if got := fmt.Sprintf("%+v", wallet); got != "{Balance:1000.00 Currency:USDT PendingDeposits:0.00 CardsActive:0 CardsTotalBalance:0.00}" {
		t.Errorf("wallet %s", got)
	}
	all := must[[]api.DepositAddress](t)(client.DepositAddresses(ctx, ""))
	one := must[[]api.DepositAddress](t)(client.DepositAddresses(ctx, "usdt"))
	if len(all) != 10 || len(one) != 1 || one[0].Currency != "usdt" || !slices.Contains(all, one[0]) {
		t.Errorf("addresses %+v and %+v", all, one)
	}
	for _, status := range []string{"", "pending"} {
		if got := must[[]api.Challenge](t)(client.Challenges(ctx, status)); len(got) != 0 {
			t.Errorf("challenges %v", got)
		}
	}
	for transaction, err := range client.Transactions(ctx, api.TransactionFilter{Type: api.TransactionRefund, From: time.Now().AddDate(0, -1, 0), To: time.Now()}) {
		t.Errorf("transaction %+v, %v", transaction, err)
	}
	for _, secret := range []string{"", "whsec_of_my_own"} {
		got := must[api.Registration](t)(client.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com/cards", Events: []string{"card.created"}, Secret: api.Secret(secret)}))
		if got.ID == "" || got.CreatedAt == "" || got.MayHaveDuplicate || got.Secret == "" || secret != "" && got.Secret.Reveal() != secret ||
			got.URL != "https://hooks.example.com/cards" || !reflect.DeepEqual(got.Events, []string{"card.created"}) {
			t.Errorf("registered %v", got)
		}
	}
}
