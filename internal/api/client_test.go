package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vcard/terraform-provider-vcard/internal/api"
	"github.com/vcard/terraform-provider-vcard/internal/api/transport"
	"github.com/vcard/terraform-provider-vcard/internal/contract"
	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
	"github.com/vcard/terraform-provider-vcard/internal/usd"
)

// Every endpoint of a sandbox is called over real HTTP, and every exchange checked
// against the wire contract. What is read is compared in text, so that each field counts.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := sandboxtest.Start(t, func(o *sandboxtest.Options) {
		o.Path, o.InitialBalance = ":memory:", 1000*usd.Dollar
		o.Wrap = func(service http.Handler) http.Handler { return contract.Handler(t, service) }
	})
	s.Quirks(nil)
	client := newClient(t, nil, func(c *api.Config) {
		c.BaseURL, c.APIKey, c.Clock, c.RequestTimeout = s.URL, transport.Secret(s.Key), nil, 0
	})
	read := func(name string, got any, err error, want string) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, got, want)
	}
	bins, err := client.Bins(ctx)
	if err != nil || len(bins) != 9 || len(bins[0].Wallets) != 2 || bins[0].Network.Raw() == "" || bins[0].Category.Raw() == "" {
		t.Fatalf("BINs %+v, %v", bins, err)
	}
	limit, threshold := 400*usd.Dollar, 10*usd.Dollar
	issuance, err := client.IssueCard(ctx, api.IssueCardRequest{
		BinID: bins[0].ID, Amount: 75*usd.Dollar + 25*usd.Cent, Label: "campaign", SpendingLimit: &limit, AutoFreezeAt: &threshold,
		AllowedCategories: []string{"advertising"}, Metadata: map[string]string{"team": "growth"},
	})
	if err != nil {
		t.Fatalf("issued %+v, %v", issuance, err)
	}
	card := issuance.Card
	read("the properties", []any{card.Balance, card.SpendingLimit, issuance.Recovered}, nil, "[75.25 400.00 false]")
	if card.ExpiresAt == "" || card.CreatedAt == "" {
		t.Errorf("issued %+v", card)
	}
	summary, err := client.GetCard(ctx, card.ID)
	read("the summary", summary, err, fmt.Sprintf("%+v", card.CardSummary))
	plain, err := client.IssueCard(ctx, api.IssueCardRequest{BinID: bins[1].ID, Amount: 50 * usd.Dollar})
	read("without properties", plain.Card.SpendingLimit > 0, err, "true")
	page, err := client.ListCards(ctx, api.CardFilter{}, 2, 1)
	read("the second page", []any{page.Page, page.PerPage, *page.Total, page.Data}, err, fmt.Sprintf("[2 1 2 [%+v]]", card.CardListItem))
	same(t, "the filtered cards", listed(t, client, api.CardFilter{Status: api.StatusActive, BinID: bins[1].ID}), "["+plain.Card.ID+"]")
	details, err := client.CardDetails(ctx, card.ID)
	isOfCard := len(details.PAN) >= 13 && strings.HasSuffix(details.PAN.Reveal(), card.Last4.Raw())
	read("the details", []any{isOfCard, len(details.CVV), details.ExpMonth > 0, details.ExpYear > 2000}, err, "[true 3 true true]")

	for _, test := range []struct {
		delta usd.Amount
		want  string
	}{
		{20 * usd.Dollar, "moved, 95.25 on the active card, 852.75 in the wallet"},
		{-95 * usd.Dollar, "moved, 0.25 on the frozen card, 947.75 in the wallet"}, // which crosses auto_freeze_at
	} {
		transfer, err := client.Move(ctx, move(card.ID, test.delta, nil))
		got := fmt.Sprintf("%s, %s on the %s card, %s in the wallet", told(transfer, err), transfer.CardBalance, transfer.CardStatus, transfer.WalletBalance)
		read("the movement", got, err, test.want)
	}
	unfrozen, err := client.UnfreezeCard(ctx, card.ID, nil)
	read("unfrozen", unfrozen, err, "{ID:"+card.ID+" Status:active Balance:0.25 LostResponse:false}")
	frozen, err := client.FreezeCard(ctx, card.ID)
	read("frozen", frozen, err, "{ID:"+card.ID+" Status:frozen Balance:0.25 LostResponse:false}")
	for _, want := range []string{"ReturnedToWallet:0.25 AlreadyTerminated:false", "ReturnedToWallet:0.00 AlreadyTerminated:true"} {
		termination, err := client.TerminateCard(ctx, card.ID)
		read("terminated", termination, err, "{ID:"+card.ID+" Status:terminated "+want+" LostResponse:false}")
	}
	if _, err := client.GetCard(ctx, "card_unknown"); !transport.IsNotFound(err) {
		t.Errorf("an unknown card: %v", err)
	}

	wallet, err := client.WalletBalance(ctx)
	read("the wallet", []any{wallet.Balance, wallet.Currency, wallet.PendingDeposits, *wallet.CardsActive, wallet.CardsTotalBalance}, err, "[948.00 USDT 0.00 1 50.00]")
	all, err := client.DepositAddresses(ctx, "")
	one, failed := client.DepositAddresses(ctx, "usdt")
	if err != nil || failed != nil || len(all) != 10 || len(one) != 1 || one[0].Currency.Raw() != "usdt" || !slices.Contains(all, one[0]) {
		t.Errorf("addresses %+v and %+v, %v, %v", all, one, err, failed)
	}
	for _, status := range []string{"", "pending"} {
		challenges, err := client.Challenges(ctx, status)
		read("the challenges", challenges, err, "[]")
	}
	refunds := api.TransactionFilter{Type: api.TransactionRefund, From: time.Now().AddDate(0, -1, 0), To: time.Now()}
	for transaction, err := range client.Transactions(ctx, refunds) {
		t.Errorf("transaction %+v, %v", transaction, err)
	}
	for _, secret := range []transport.Secret{"", "whsec_of_my_own"} {
		got, err := client.RegisterWebhook(ctx, api.WebhookRequest{URL: "https://hooks.example.com/cards", Events: []string{"card.created"}, Secret: secret})
		isWhole := got.ID != "" && got.CreatedAt != "" && got.Secret != "" && (secret == "" || got.Secret == secret)
		read("the endpoint", []any{got.MayHaveDuplicate, isWhole}, err, "[false true]")
	}
}

func TestNewChecksAddressAndKey(t *testing.T) {
	t.Parallel()
	const good = "https://cards.example.com/api/v1"
	for name, test := range map[string]struct{ base, key, want string }{
		"https":                  {good, testKey, ""},
		"a slash at the end":     {good + "/", testKey, ""},
		"http to 127.0.0.1":      {"http://127.0.0.1:8420/api/v1", testKey, ""},
		"http to ::1":            {"http://[::1]:8420/api/v1", testKey, ""},
		"http to localhost":      {"http://localhost:8420/api/v1", testKey, ""},
		"http to LOCALHOST":      {"http://LOCALHOST:8420/api/v1", testKey, ""},
		"http to v4 in v6":       {"http://[::ffff:127.0.0.1]:8420/api/v1", testKey, ""},
		"http to elsewhere":      {"http://cards.example.com/api/v1", testKey, "loopback"},
		"http to a container":    {"http://sandbox:8420/api/v1", "sk_live_sandbox_0123456789", ""},
		"a key like a sandbox's": {"http://sandbox:8420/api/v1", "sk_live_sandboxes_0123456789", "loopback"},
		"http to a lookalike":    {"http://127.0.0.1.example.com/api/v1", testKey, "loopback"},
		"http to all addresses":  {"http://0.0.0.0/api/v1", testKey, "loopback"},
		"another scheme":         {"ftp://cards.example.com/api/v1", testKey, "https://"},
		"no scheme":              {"cards.example.com/api/v1", testKey, "https://"},
		"nothing":                {"", testKey, "https://"},
		"no version":             {"https://cards.example.com", testKey, "/api/v1"},
		"a user name":            {"https://me:pw@cards.example.com/api/v1", testKey, "user name"},
		"a key for a host":       {"https://" + testKey + "/api/v1", testKey, "API key"},
		"a key in the path":      {"http://localhost/" + testKey, testKey, "API key"},
		"a key":                  {testKey, testKey, "API key"},
		"a query":                {good + "?key=1", testKey, "query"},
		"a fragment":             {good + "#v1", testKey, "fragment"},
		"no port":                {"http://localhost:/api/v1", testKey, ""},
		"port 0":                 {"http://localhost:0/api/v1", testKey, "a port between 1 and 65535"},
		"port 65536":             {"https://cards.example.com:65536/api/v1", testKey, "a port between 1 and 65535"},
		"no host":                {"https:///api/v1", testKey, "be an address"},
		"no address":             {"https://[::1/api/v1", testKey, "be an address"},
		"no key":                 {good, "", "sk_live_"},
		"another prefix":         {good, "pk_test_1234567", "sk_live_"},
		"only the prefix":        {good, "sk_live_", "sk_live_"},
		"a key of two lines":     {good, testKey + "\nX-Evil: 1", "line break"},
		"a key with a newline":   {good, testKey + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.New(api.Config{BaseURL: test.base, APIKey: transport.Secret(test.key)})
			broken, isConfig := errors.AsType[*transport.ConfigError](err)
			isSecret := isConfig && broken.Secret
			field := transport.FieldBaseURL
			if test.want == "sk_live_" || test.want == "line break" {
				field = transport.FieldAPIKey
			}
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), test.want):
				t.Errorf("error %v, want one about %q", err, test.want)
			case isSecret != slices.Contains([]string{"API key", "user name", "query", "fragment"}, test.want):
				t.Errorf("error %v, which lets its value be shown: %t", err, !isSecret)
			case !strings.HasPrefix(err.Error(), "the "+field+" must "):
				t.Errorf("error %v names the wrong field", err)
			case len(test.key) > 10 && strings.Contains(err.Error(), strings.Fields(test.key)[0]) || strings.Contains(err.Error(), "pw"):
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestConfigAndClientDoNotShowTheKey(t *testing.T) {
	t.Parallel()
	config := api.Config{BaseURL: "https://cards.example.com/api/v1", APIKey: testKey}
	client, err := api.New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, value := range []any{config, &config, client, struct{ c *api.Client }{client}} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, testKey) {
				t.Errorf("%s shows the key: %.60s…", verb, text)
			}
		}
	}
}
