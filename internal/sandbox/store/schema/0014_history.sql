-- What a card went through that its transactions do not tell.
CREATE TABLE status_changes (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  card_id    INTEGER NOT NULL REFERENCES cards (id),
  status     TEXT    NOT NULL,
  automatic  INTEGER NOT NULL,   -- the balance fell below the card's threshold
  created_at INTEGER NOT NULL
);
CREATE INDEX status_changes_by_account ON status_changes (account_id, id);
CREATE INDEX status_changes_by_card ON status_changes (card_id, id);

ALTER TABLE transactions ADD COLUMN decline_reason TEXT; -- null: no decline, or one of an earlier version

-- Money that an owner moves, of which a card has few entries among those of its
-- transactions.
ALTER TABLE ledger_entries ADD COLUMN card_account_id INTEGER REFERENCES ledger_accounts (id);
UPDATE ledger_entries SET card_account_id = (
  SELECT p.ledger_account_id FROM ledger_postings p JOIN ledger_accounts l ON l.id = p.ledger_account_id
  WHERE p.entry_id = ledger_entries.id AND l.kind = 'card');
CREATE INDEX ledger_movements_by_account ON ledger_entries (account_id, id)
  WHERE kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated');
CREATE INDEX ledger_movements_by_card ON ledger_entries (card_account_id, id)
  WHERE kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated');

CREATE INDEX card_spending_by_month ON card_spending (month, amount);
CREATE INDEX challenges_by_card ON challenges (card_id, id);
