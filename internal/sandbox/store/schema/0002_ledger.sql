CREATE TABLE ledger_accounts (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  kind       TEXT    NOT NULL,
  balance    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX ledger_accounts_by_kind ON ledger_accounts (account_id, kind, balance);

CREATE TABLE ledger_entries (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  kind       TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id);

CREATE TABLE ledger_postings (
  entry_id          INTEGER NOT NULL REFERENCES ledger_entries (id),
  ledger_account_id INTEGER NOT NULL REFERENCES ledger_accounts (id),
  amount            INTEGER NOT NULL,
  PRIMARY KEY (entry_id, ledger_account_id)
) WITHOUT ROWID;
