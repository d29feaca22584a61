package sandbox_test

import (
	"testing"
)

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
