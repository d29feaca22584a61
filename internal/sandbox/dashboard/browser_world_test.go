package dashboard_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vcard/terraform-provider-vcard/internal/sandbox/sandboxtest"
)

func TestBrowserApprovesAChallenge(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	card := s.Issue("100")
	b := openTab(t, s).logIn()
	b.open("/3ds")
	challenge := s.Post("/_sandbox/3ds-challenges", map[string]any{"card_id": card, "merchant": "Example Ads", "amount": 5}).OK(201)
	b.await(fmt.Sprintf("document.querySelector('.code')?.textContent === %q", challenge.Text("otp"))) // by itself
	b.press(`button[value="approved"]`)
	b.awaitText("The challenge is approved.")
	if pending := s.Get("/3ds?status=approved").OK(200).Data(); len(pending) != 1 || pending[0]["id"] != challenge.Text("id") {
		t.Errorf("approved is %v", pending)
	}
}

func TestBrowserConfirmsADeposit(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	b := openTab(t, s).logIn()
	b.open("/deposits")
	b.fill("#amount", "250")
	b.press(`button[value="announce"]`)
	b.awaitText("The coins are on their way.")
	b.press(`button[value="confirm"]`)
	b.awaitText("The deposit is confirmed")
	if got := s.Wallet().String(); got != "10250.00" {
		t.Errorf("the wallet holds %s", got)
	}
}

// A delivery that failed is sent again, and its endpoint is removed.
func TestBrowserSendsADeliveryAgain(t *testing.T) {
	t.Parallel()
	inbox := sandboxtest.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s := sandboxtest.Start(t, inbox.Trusted, sandboxtest.WithDashboard)
	s.Post("/webhooks", `{"url":"`+inbox.URL+`/in","events":["card.created"]}`).OK(201)
	b := openTab(t, s).logIn()
	b.open("/webhooks")
	s.Issue("50")
	b.awaitText("418") // by itself
	inbox.Respond(nil)
	b.press(`button[value="redeliver"]`)
	b.awaitText("The event is sent again.")
	inbox.Wait(2)
	b.await("document.querySelector('.badge.delivered') !== null") // by itself
	if evaluate[bool](b, `document.querySelector('button[value="remove"]').checkVisibility()`) {
		t.Error("a single press removes the endpoint")
	}
	b.press(".confirm summary")
	b.press(`button[value="remove"]`)
	b.awaitText("The endpoint is removed.")
	b.awaitText("There is no endpoint.")
	s.Issue("50")
	if got := s.Get("/_sandbox/deliveries").OK(200).Data(); len(got) != 0 {
		t.Errorf("the deliveries are %v", got)
	}
}

// A page says when nothing answers any more, and goes on when something does.
func TestBrowserSaysThatTheSandboxIsGone(t *testing.T) {
	t.Parallel()
	s := sandboxtest.Start(t, sandboxtest.WithDashboard)
	b := openTab(t, s).logIn()
	b.leave() // the console tells of each attempt
	s.Close()
	b.await("document.querySelector('#connection').textContent === 'The sandbox does not answer'")
}
