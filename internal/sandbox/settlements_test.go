package sandbox_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestSettlements(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{
			name: "without an amount the whole hold is paid", want: map[string]string{"card": "60.00", "holds": "0.00", "merchants": "40.00"},
			run: func(s *service, card string) {
				a := s.Settle(s.authorized(card, "40"), "").OK(http.StatusCreated)
				fields(s.T, a.Body, "transaction")
				want := fmt.Sprintf("map[amount:40.00 card_id:%s created_at:2026-03-15T12:00:00.000Z currency:USD fee:0.00 id:%s "+
					"merchant:map[mcc:7311 name:Big Ads] type:settlement]", card, a.Transaction())
				if got := fmt.Sprint(a.Body["transaction"]); got != want {
					s.T.Errorf("answered %s, want %s", got, want)
				}
			},
		},
		{
			name: "a part is final: the rest returns to the card", want: map[string]string{"card": "89.99", "holds": "0.00", "merchants": "10.01"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "40"), "10.01") },
		},
		{
			name: "other holds stay", want: map[string]string{"card": "55.00", "holds": "25.00", "merchants": "20.00"},
			run: func(s *service, card string) {
				s.authorized(card, "25")
				s.settled(s.authorized(card, "40"), "20")
			},
		},
		{
			name: "the excess comes from the card", want: map[string]string{"card": "40.00", "holds": "0.00", "merchants": "60.00", "wallet": "1000.00"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "40"), "60") },
		},
		{
			name: "then from the wallet", want: map[string]string{"card": "0.00", "merchants": "140.00", "wallet": "960.00", "loss": "0.00"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "40"), "140") },
		},
		{
			name: "and what is left is a loss", want: map[string]string{"card": "0.00", "merchants": "1100.01", "wallet": "0.00", "loss": "-0.01"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "40"), "1100.01") },
		},
		{
			name: "a frozen card pays what was authorized", want: map[string]string{"card": "90.00", "holds": "0.00", "merchants": "10.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.Freeze(card)
				s.settled(authorization, "10")
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "a termination keeps open holds", want: map[string]string{"card": "0.00", "holds": "40.00", "wallet": "1060.00"},
			run: func(s *service, card string) {
				s.authorized(card, "40")
				s.Terminate(card)
			},
		},
		{
			name: "after a termination the rest returns to the wallet", want: map[string]string{"card": "0.00", "holds": "0.00", "merchants": "10.00", "wallet": "1090.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.Terminate(card)
				s.settled(authorization, "10")
			},
		},
		{
			name: "after a termination the excess comes from the wallet", want: map[string]string{"card": "0.00", "merchants": "50.00", "wallet": "1050.00", "loss": "0.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.Terminate(card)
				s.settled(authorization, "50")
			},
		},
		{
			name: "settled once", want: map[string]string{"card": "60.00", "merchants": "40.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.settled(authorization, "")
				s.Settle(authorization, "").Refused(400, "invalid_request", "settled already")
				s.Settle(authorization, "1").Refused(400, "invalid_request", "settled already")
			},
		},
		{
			name: "only authorizations are settled", want: map[string]string{"card": "60.00", "merchants": "40.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "")
				s.Settle(settlement, "").Refused(400, "invalid_request", "of type settlement")
				s.Settle(s.authorize(card, "1000").Transaction(), "").Refused(400, "invalid_request", "of type decline")
			},
		},
		{
			name: "nothing is no settlement", want: map[string]string{"card": "60.00", "holds": "40.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				for _, amount := range []string{"0", "-1", "0.001", `"5"`, "null"} {
					s.Settle(authorization, amount).Refused(400, "invalid_request", "amount")
				}
			},
		},
		{
			name: "of this account's transactions", want: map[string]string{"card": "60.00", "holds": "40.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				foreign := s.as(s.Post("/_sandbox/accounts", `{"state":"ready"}`).Text("api_key"))
				foreign.Settle(authorization, "").Refused(404, "not_found", authorization)
				s.Settle("txn_x", "").Refused(404, "not_found", "txn_x")
				s.Post("/_sandbox/settlements", "").Refused(400, "invalid_request", "transaction_id is required")
			},
		},
	})
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{
			name: "without an amount all is returned", want: map[string]string{"card": "100.00", "merchants": "0.00"},
			run: func(s *service, card string) {
				a := s.Refund(s.settled(s.authorized(card, "40"), ""), "").OK(http.StatusCreated)
				fields(s.T, a.Body, "transaction")
				shown := a.Body["transaction"].(map[string]any)
				if got := fmt.Sprintf("%v %v %v", shown["type"], shown["amount"], shown["merchant"]); got != "refund 40.00 map[mcc:7311 name:Big Ads]" {
					s.T.Errorf("answered %s", a.Raw)
				}
			},
		},
		{
			name: "in parts, up to what was settled", want: map[string]string{"card": "100.00", "merchants": "0.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "")
				s.refunded(settlement, "15.50")
				s.Refund(settlement, "24.51").Refused(400, "invalid_request", "24.50 USD can still be refunded")
				s.refunded(settlement, "4.50")
				s.refunded(settlement, "") // the rest
				s.Refund(settlement, "").Refused(400, "invalid_request", "0.00 USD can still be refunded")
				s.Refund(settlement, "0.01").Refused(400, "invalid_request", "0.00 USD can still be refunded")
			},
		},
		{
			name: "as much as was settled, not as was held", want: map[string]string{"card": "100.00", "wallet": "1000.00", "merchants": "0.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "50")
				s.Refund(settlement, "50.01").Refused(400, "invalid_request", "50.00 USD")
				s.refunded(settlement, "50")
			},
		},
		{
			name: "to a frozen card, which stays frozen", want: map[string]string{"card": "100.00", "merchants": "0.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "")
				s.Freeze(card)
				s.refunded(settlement, "")
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "after a termination to the wallet", want: map[string]string{"card": "0.00", "merchants": "30.00", "wallet": "1070.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "")
				s.Terminate(card)
				s.refunded(settlement, "10")
			},
		},
		{
			name: "only settlements are refunded", want: map[string]string{"card": "70.00", "holds": "10.00", "merchants": "20.00"},
			run: func(s *service, card string) {
				refund := s.refunded(s.settled(s.authorized(card, "40"), ""), "20")
				s.Refund(refund, "").Refused(400, "invalid_request", "of type refund")
				s.Refund(s.authorized(card, "10"), "").Refused(400, "invalid_request", "of type authorization")
				s.Refund(s.authorize(card, "1000").Transaction(), "").Refused(400, "invalid_request", "of type decline")
			},
		},
		{
			name: "nothing is no refund", want: map[string]string{"card": "60.00", "merchants": "40.00"},
			run: func(s *service, card string) {
				settlement := s.settled(s.authorized(card, "40"), "")
				for _, amount := range []string{"0", "-1", "0.001", `"5"`, "null"} {
					s.Refund(settlement, amount).Refused(400, "invalid_request", "amount")
				}
				s.Refund("txn_x", "").Refused(404, "not_found", "txn_x")
			},
		},
	})
}

func TestFees(t *testing.T) {
	t.Parallel()
	// The issue of the card has cost 1 USD already.
	runScenarios(t, []scenario{
		{
			name: "of an authorization, beside the hold", want: map[string]string{"card": "59.75", "holds": "40.00", "fees": "1.25"},
			run: func(s *service, card string) {
				s.authorized(card, "40", `"fee":0.25`)
				if shown := s.Get("/api/v1/transactions").OK(200).Data()[0]; fmt.Sprintf("%v %v", shown["amount"], shown["fee"]) != "40.00 0.25" {
					s.T.Errorf("listed %v", shown)
				}
			},
		},
		{
			name: "of a settlement", want: map[string]string{"card": "59.50", "merchants": "40.00", "fees": "1.50"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "40"), "", `"fee":0.5`) },
		},
		{
			name: "of a settlement that returns money first", want: map[string]string{"card": "79.00", "merchants": "20.00", "fees": "2.00"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "100"), "20", `"fee":1`) },
		},
		{
			name: "of a refund", want: map[string]string{"card": "98.00", "merchants": "0.00", "fees": "3.00"},
			run: func(s *service, card string) { s.refunded(s.settled(s.authorized(card, "40"), ""), "", `"fee":2`) },
		},
		{
			name: "from the wallet when the card is empty", want: map[string]string{"card": "0.00", "wallet": "997.00", "fees": "4.00"},
			run: func(s *service, card string) { s.settled(s.authorized(card, "100"), "", `"fee":3`) },
		},
		{
			name: "from the wallet once the card is terminated", want: map[string]string{"card": "0.00", "wallet": "1087.00", "fees": "4.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.Terminate(card)
				s.settled(authorization, "10", `"fee":3`)
			},
		},
	})
}

func TestAutoFreezeOnSpending(t *testing.T) {
	t.Parallel()
	const threshold = `"auto_freeze_at":60`
	runScenarios(t, []scenario{
		{
			name: "an authorization down to the threshold", card: threshold, want: map[string]string{"card": "60.00"},
			run: func(s *service, card string) {
				s.authorized(card, "40")
				s.expectStatus(card, "active")
			},
		},
		{
			name: "an authorization below it", card: threshold, want: map[string]string{"card": "59.99"},
			run: func(s *service, card string) {
				s.authorized(card, "40.01")
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "a fee below it", card: threshold, want: map[string]string{"card": "59.99"},
			run: func(s *service, card string) {
				s.authorized(card, "40", `"fee":0.01`)
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "a settlement above the hold", card: threshold, want: map[string]string{"card": "59.99"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "40")
				s.expectStatus(card, "active")
				s.settled(authorization, "40.01")
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "a settlement of the hold decreases nothing", card: threshold, want: map[string]string{"card": "50.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "50")
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.settled(authorization, "")
				s.expectStatus(card, "active")
			},
		},
		{
			name: "an increase below the threshold", card: threshold, want: map[string]string{"card": "55.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "50")
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.settled(authorization, "48")
				s.refunded(s.Get("/api/v1/transactions?type=settlement").Data()[0]["id"].(string), "3")
				s.expectStatus(card, "active")
			},
		},
		{
			name: "a settlement that returns more than its fee", card: threshold, want: map[string]string{"card": "59.00"},
			run: func(s *service, card string) {
				authorization := s.authorized(card, "50")
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.settled(authorization, "40", `"fee":1`)
				s.expectStatus(card, "active")
			},
		},
		{
			name: "a decline", card: threshold, want: map[string]string{"card": "50.00"},
			run: func(s *service, card string) {
				s.authorized(card, "50")
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.declined("insufficient_funds", s.authorize(card, "51"))
				s.expectStatus(card, "active")
			},
		},
		{
			name: "once more after a thaw", card: threshold, want: map[string]string{"card": "49.00"},
			run: func(s *service, card string) {
				s.authorized(card, "50")
				s.Post("/api/v1/cards/"+card+"/unfreeze", "").OK(200)
				s.authorized(card, "1")
				s.expectStatus(card, "frozen")
			},
		},
		{
			name: "a threshold of nothing never freezes", card: `"auto_freeze_at":0`, want: map[string]string{"card": "0.00"},
			run: func(s *service, card string) {
				s.authorized(card, "100")
				s.expectStatus(card, "active")
			},
		},
		{
			name: "no threshold never freezes", want: map[string]string{"card": "0.00"},
			run: func(s *service, card string) {
				s.authorized(card, "100")
				s.expectStatus(card, "active")
			},
		},
	})
}

func TestSpendingEvents(t *testing.T) {
	t.Parallel()
	s := startWithContract(t, stopped)
	hook := s.Post("/api/v1/webhooks", `{"url":"https://127.0.0.1:1","events":["*"]}`).Text("id")
	card := s.Issue("100", `"auto_freeze_at":60`)
	authorization := s.authorized(card, "40")
	s.authorize(card, "1000").OK(201)
	settlement := s.settled(authorization, "50") // freezes
	s.refunded(settlement, "5")
	s.refunded(settlement, "")
	s.Refund(settlement, "").Refused(400, "invalid_request", "")
	var got []string
	for _, payload := range outbox(t, s, hook)[1:] {
		data := payload["data"].(map[string]any)
		line := fmt.Sprint(payload["type"])
		if data["type"] != nil {
			fields(t, data, "id", "card_id", "type", "amount", "currency", "fee", "merchant", "created_at")
			line += fmt.Sprintf(" %v %v", data["type"], data["amount"])
		} else {
			line += fmt.Sprintf(" %v %v", data["status"], data["balance"])
		}
		got = append(got, line)
	}
	want := []string{
		"transaction.authorized authorization 40", "transaction.declined decline 1000",
		"transaction.settled settlement 50", "card.frozen frozen 50", "transaction.refunded refund 5", "transaction.refunded refund 45",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	s.Balanced()
}

func TestLedgerNoticesOneCent(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]string{
		"on the holds":                 `UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'holds'`,
		"off the merchants":            `UPDATE ledger_accounts SET balance = balance - 1 WHERE kind = 'merchants'`,
		"in an open authorization":     `UPDATE transactions SET amount = amount + 1 WHERE type = 'authorization' AND amount = 3000`,
		"moved from holds to the card": `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END`,
		"moved with its postings": `UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'holds' THEN -1 WHEN 'card' THEN 1 ELSE 0 END;
			UPDATE ledger_postings SET amount = amount + CASE amount WHEN 3000 THEN -1 WHEN -3000 THEN 1 ELSE 0 END`,
		"of an entry":          `UPDATE ledger_postings SET amount = amount - 1 WHERE amount = 4000`,
		"a settlement unbound": `UPDATE transactions SET parent_id = NULL WHERE type = 'settlement'`,
		"in no authorization":  `UPDATE transactions SET type = 'decline' WHERE type = 'authorization' AND amount = 3000`,
		"behind an index": `PRAGMA writable_schema = ON; PRAGMA schema_version = 1000;
			UPDATE sqlite_schema SET sql = 'CREATE INDEX cards_by_status ON cards (account_id, last4, id)' WHERE name = 'cards_by_status'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWithContract(t)
			card := s.Issue("100")
			s.settled(s.authorized(card, "40"), "")
			s.authorized(card, "30")
			s.Balanced()
			execSQL(t, s.path, harm)
			report := s.Get("/_sandbox/ledger").OK(200)
			if report.Body["balanced"] != false || report.Body["problems"] == nil {
				t.Errorf("not noticed: %s", report.Raw)
			}
		})
	}
}
