// A client that was generated from the contract calls every endpoint.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	_ "github.com/oapi-codegen/runtime" // of the generated code
)

// main gets the address of the API and a key to it.
func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	c, err := NewClientWithResponses(os.Args[1], WithRequestEditorFn(withKey))
	if err != nil {
		log.Fatal(err)
	}
	bins, err := c.ListBINsWithResponse(ctx)
	bin := is(bins, err, bins.JSON200).Data[0].Id
	label, key := "made by a generated client", "one"
	created, err := c.CreateCardWithResponse(ctx, &CreateCardParams{XIdempotencyKey: &key}, CreateCard{BinId: bin, Amount: "100.05", Label: &label})
	id := is(created, err, created.JSON201).Id
	cards, err := c.ListCardsWithResponse(ctx, &ListCardsParams{BinId: &bin})
	equal(is(cards, err, cards.JSON200).Data[0].Label, label)
	funded, err := c.FundCardWithResponse(ctx, id, nil, Move{Amount: "1234567.07"})
	equal(is(funded, err, funded.JSON200).CardBalance, "1234667.12")
	withdrawn, err := c.WithdrawCardWithResponse(ctx, id, nil, Move{Amount: "1234567.08"})
	equal(is(withdrawn, err, withdrawn.JSON200).CardBalance, "100.04")
	frozen, err := c.FreezeCardWithResponse(ctx, id, nil)
	equal(is(frozen, err, frozen.JSON200).Status, "frozen")
	unfrozen, err := c.UnfreezeCardWithResponse(ctx, id, nil)
	equal(is(unfrozen, err, unfrozen.JSON200).Status, "active")
	details, err := c.GetCardDetailsWithResponse(ctx, id)
	equal(len(is(details, err, details.JSON200).Pan), 16)
	card, err := c.GetCardWithResponse(ctx, id)
	equal(is(card, err, card.JSON200).Balance, "100.04")
	transactions, err := c.ListTransactionsWithResponse(ctx, &ListTransactionsParams{CardId: &id})
	equal(len(is(transactions, err, transactions.JSON200).Data), 0)
	challenges, err := c.List3DSChallengesWithResponse(ctx, nil)
	equal(len(is(challenges, err, challenges.JSON200).Data), 0)
	addresses, err := c.ListDepositAddressesWithResponse(ctx, nil)
	equal(len(is(addresses, err, addresses.JSON200).Data), 10)
	var events Events
	if err := events.FromSomeEvents(SomeEvents{"card.created"}); err != nil {
		log.Fatal(err)
	}
	webhook, err := c.CreateWebhookWithResponse(ctx, nil, CreateWebhook{Url: "https://127.0.0.1:1", Events: events})
	equal(is(webhook, err, webhook.JSON201).Url, "https://127.0.0.1:1")
	terminated, err := c.TerminateCardWithResponse(ctx, id, nil)
	equal(is(terminated, err, terminated.JSON200).Status, "terminated")
	balance, err := c.GetWalletBalanceWithResponse(ctx)
	equal(is(balance, err, balance.JSON200).CardsActive, 0)
}

// is returns what a call was answered with, or ends the program.
func is[T any](response interface{ Status() string }, err error, body *T) T {
	if err != nil || body == nil {
		log.Fatalf("%T: %v, %s", response, err, response.Status())
	}
	return *body
}

func equal(got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		log.Fatalf("%v, want %v", got, want)
	}
}
