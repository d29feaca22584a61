CREATE TABLE cards (
  id                 INTEGER PRIMARY KEY,  -- the order of issue
  public_id          TEXT    NOT NULL UNIQUE,
  account_id         INTEGER NOT NULL REFERENCES accounts (id),
  ledger_account_id  INTEGER NOT NULL UNIQUE REFERENCES ledger_accounts (id),
  bin_id             TEXT    NOT NULL,
  last4              TEXT    NOT NULL,
  status             TEXT    NOT NULL,
  spending_limit     INTEGER NOT NULL,
  label              TEXT    NOT NULL,
  allowed_categories TEXT    NOT NULL,     -- JSON
  auto_freeze_at     INTEGER,
  metadata           TEXT    NOT NULL,     -- JSON
  created_at         INTEGER NOT NULL,
  expires_at         TEXT    NOT NULL      -- YYYY-MM-DD
);
CREATE INDEX cards_by_account ON cards (account_id, id);
CREATE INDEX cards_by_status ON cards (account_id, status, id);
CREATE INDEX cards_by_bin ON cards (account_id, bin_id, status, id);
