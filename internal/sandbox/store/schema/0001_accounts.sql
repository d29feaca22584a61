-- Amounts are cents of a US dollar, times are Unix milliseconds (UTC).

CREATE TABLE service (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  master_key      BLOB    NOT NULL,
  initial_balance INTEGER NOT NULL,
  clock_offset_ms INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE accounts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  public_id  TEXT    NOT NULL UNIQUE,
  key_hash   BLOB    NOT NULL UNIQUE,
  key_sealed BLOB,            -- only of a key that was chosen, not derived
  state      TEXT    NOT NULL
);

CREATE TABLE idempotent_answers (
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  key        TEXT    NOT NULL,
  method     TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  body_hash  BLOB    NOT NULL,
  status     INTEGER NOT NULL,
  answer     BLOB    NOT NULL,   -- sealed: it may hold a webhook secret
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key, method, path)
) WITHOUT ROWID;
CREATE INDEX idempotent_answers_by_age ON idempotent_answers (created_at);

CREATE TABLE request_log (
  id              INTEGER PRIMARY KEY,
  account_id      INTEGER,       -- null: no valid key
  method          TEXT    NOT NULL,
  path            TEXT    NOT NULL,
  query           TEXT    NOT NULL,
  status          INTEGER NOT NULL,
  idempotency_key TEXT    NOT NULL,
  time            INTEGER NOT NULL
);
