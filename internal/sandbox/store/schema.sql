-- Version 1 of the schema. Amounts are in US cents. Times are in Unix milliseconds.

-- The first release that can read the file.
CREATE VIEW read_by AS SELECT 'vcard 0.2.0' AS release;

-- The CHECK limits the table to one row.
CREATE TABLE service (
  id              INTEGER PRIMARY KEY CHECK (id = 1),
  master_key      BLOB    NOT NULL,
  initial_balance INTEGER NOT NULL,            -- the opening balance of the first account's wallet
  clock_offset_ms INTEGER NOT NULL DEFAULT 0   -- the service's time minus the real time
);

-- AUTOINCREMENT: a new account does not get the id of a deleted one.
CREATE TABLE accounts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  public_id  TEXT    NOT NULL UNIQUE,
  key_hash   BLOB    NOT NULL UNIQUE,
  chosen_key TEXT,            -- null: the key is derived from the master key
  state      TEXT    NOT NULL
);

-- Additional keys of accounts.
CREATE TABLE api_keys (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  key_hash   BLOB    NOT NULL UNIQUE
);

CREATE TABLE ledger_accounts (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  kind       TEXT    NOT NULL,
  balance    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX ledger_accounts_by_kind ON ledger_accounts (account_id, kind, balance);

CREATE TABLE ledger_entries (
  id              INTEGER PRIMARY KEY,
  account_id      INTEGER NOT NULL REFERENCES accounts (id),
  kind            TEXT    NOT NULL,
  card_account_id INTEGER REFERENCES ledger_accounts (id), -- the ledger account of the entry's card; null: none
  transaction_id  TEXT,                                    -- the public id of the transaction that moved the money; null: none
  created_at      INTEGER NOT NULL
);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id);
CREATE INDEX ledger_entries_by_transaction ON ledger_entries (transaction_id) WHERE transaction_id IS NOT NULL;
-- These indexes find the entries that ledger.Movements selects. SQLite uses them
-- because they have the same condition.
CREATE INDEX ledger_movements_by_account ON ledger_entries (account_id, id)
  WHERE kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated');
CREATE INDEX ledger_movements_by_card ON ledger_entries (card_account_id, id)
  WHERE kind IN ('opening balance', 'deposit confirmed', 'card issued', 'card funded', 'card withdrawn', 'card terminated');

CREATE TABLE ledger_postings (
  entry_id          INTEGER NOT NULL REFERENCES ledger_entries (id),
  ledger_account_id INTEGER NOT NULL REFERENCES ledger_accounts (id),
  amount            INTEGER NOT NULL,
  balance           INTEGER NOT NULL,                      -- of the ledger account, after the posting
  PRIMARY KEY (entry_id, ledger_account_id)
) WITHOUT ROWID;

-- The balance of a card after its last change on a UTC day.
CREATE TABLE daily_balances (
  ledger_account_id INTEGER NOT NULL REFERENCES ledger_accounts (id),
  day               INTEGER NOT NULL,                      -- UTC days since 1 January 1970
  balance           INTEGER NOT NULL,
  PRIMARY KEY (ledger_account_id, day)
) WITHOUT ROWID;

CREATE TABLE cards (
  id                 INTEGER PRIMARY KEY,  -- the order of issue
  public_id          TEXT    NOT NULL UNIQUE,
  account_id         INTEGER NOT NULL REFERENCES accounts (id),
  ledger_account_id  INTEGER NOT NULL UNIQUE REFERENCES ledger_accounts (id),
  bin_id             TEXT    NOT NULL,
  last4              TEXT    NOT NULL,
  status             TEXT    NOT NULL,
  loaded             INTEGER NOT NULL,     -- loads minus withdrawals
  spending_limit     INTEGER NOT NULL,     -- per UTC calendar month
  label              TEXT    NOT NULL,
  allowed_categories TEXT    NOT NULL,     -- JSON
  auto_freeze_at     INTEGER,              -- an amount: a balance below it freezes the card; null: never
  metadata           TEXT    NOT NULL,     -- JSON
  created_at         INTEGER NOT NULL,
  expires_at         TEXT    NOT NULL      -- YYYY-MM-DD
);
CREATE INDEX cards_by_account ON cards (account_id, id);
CREATE INDEX cards_by_status ON cards (account_id, status, id);
CREATE INDEX cards_by_bin ON cards (account_id, bin_id, status, id);

-- The changes of a card's status.
CREATE TABLE status_changes (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  card_id    INTEGER NOT NULL REFERENCES cards (id),
  status     TEXT    NOT NULL,
  automatic  INTEGER NOT NULL,   -- 1: the service froze the card, because its balance fell below the threshold
  created_at INTEGER NOT NULL
);
CREATE INDEX status_changes_by_account ON status_changes (account_id, id);
CREATE INDEX status_changes_by_card ON status_changes (card_id, id);

-- A purchase is an authorization or a decline. Its settlement and refunds belong to it.
-- The indexes contain columns of filters and sums, so that a list with an offset
-- need not read the skipped rows.
CREATE TABLE transactions (
  id             INTEGER PRIMARY KEY,
  public_id      TEXT    NOT NULL UNIQUE,
  account_id     INTEGER NOT NULL REFERENCES accounts (id),
  card_id        INTEGER NOT NULL REFERENCES cards (id),
  parent_id      INTEGER REFERENCES transactions (id), -- a settlement's authorization, a refund's settlement
  type           TEXT    NOT NULL,
  state          TEXT,                                 -- of a purchase; null: a settlement or a refund
  amount         INTEGER NOT NULL,
  fee            INTEGER NOT NULL,
  merchant_name  TEXT    NOT NULL,
  merchant_mcc   TEXT    NOT NULL,
  decline_reason TEXT,                                 -- null: not declined
  decline_facts  TEXT,                                 -- JSON: the values that decided the decline; null: not declined
  created_at     INTEGER NOT NULL,                     -- within an account, never decreases with the id
  -- The sums of a purchase with its settlement and refunds; 0 in the rows of settlements and refunds.
  settled        INTEGER NOT NULL DEFAULT 0,
  refunded       INTEGER NOT NULL DEFAULT 0,
  fees           INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX transactions_by_account ON transactions (account_id, id, type, state, created_at, card_id);
CREATE INDEX purchases_by_account ON transactions (account_id, id, state, created_at, card_id, amount, settled, refunded, fees, merchant_name, decline_reason)
  WHERE state IS NOT NULL;
CREATE INDEX transactions_by_time ON transactions (account_id, created_at, id);
CREATE INDEX transactions_by_card ON transactions (card_id, id, type, created_at);
CREATE INDEX transactions_by_parent ON transactions (parent_id) WHERE parent_id IS NOT NULL;

-- The sums of the purchases that were made on a UTC day. Later settlements and
-- refunds of these purchases count on the same day.
CREATE TABLE daily_sums (
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  card_id    INTEGER NOT NULL,                         -- 0: all cards of the account
  day        INTEGER NOT NULL,                         -- UTC days since 1 January 1970
  purchases  INTEGER NOT NULL,                         -- the number of purchases, including declines
  declines   INTEGER NOT NULL,                         -- the number of declines
  held       INTEGER NOT NULL,                         -- the sum of the authorizations that are not settled
  settled    INTEGER NOT NULL,
  refunded   INTEGER NOT NULL,
  fees       INTEGER NOT NULL,
  PRIMARY KEY (account_id, card_id, day)
) WITHOUT ROWID;
CREATE INDEX daily_sums_by_day ON daily_sums (account_id, day, card_id, settled, held, refunded);

-- The sum of a card's authorizations in a UTC calendar month. A settled
-- authorization counts as the settled amount, and an open one as the held amount.
CREATE TABLE card_spending (
  card_id INTEGER NOT NULL REFERENCES cards (id),
  month   TEXT    NOT NULL,                -- YYYY-MM
  amount  INTEGER NOT NULL,
  PRIMARY KEY (card_id, month)
) WITHOUT ROWID;
CREATE INDEX card_spending_by_month ON card_spending (month, amount);

CREATE TABLE challenges (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  card_id    INTEGER NOT NULL REFERENCES cards (id),
  merchant   TEXT    NOT NULL,
  amount     INTEGER NOT NULL,
  status     TEXT    NOT NULL,  -- queries derive 'expired' from expires_at
  expires_at INTEGER NOT NULL
);
CREATE INDEX challenges_by_account ON challenges (account_id, status, expires_at, id);
CREATE INDEX challenges_by_card ON challenges (card_id, id);

CREATE TABLE deposits (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  currency   TEXT    NOT NULL,
  amount     INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX deposits_by_account ON deposits (account_id, status, amount);

CREATE TABLE webhooks (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  url        TEXT    NOT NULL,
  events     TEXT    NOT NULL,   -- JSON
  secret     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX webhooks_by_account ON webhooks (account_id);

-- The outbox.
CREATE TABLE events (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  type       TEXT    NOT NULL,
  subject    TEXT    NOT NULL,  -- the id of the object that the event is about
  payload    TEXT    NOT NULL,  -- the body to send
  created_at INTEGER NOT NULL
);
CREATE INDEX events_by_account ON events (account_id, id);
CREATE INDEX events_by_subject ON events (subject);

-- The delivery of an event to a webhook.
CREATE TABLE deliveries (
  id           INTEGER PRIMARY KEY,
  public_id    TEXT    NOT NULL UNIQUE,
  event_id     INTEGER NOT NULL REFERENCES events (id),
  webhook_id   INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  round        INTEGER NOT NULL DEFAULT 0,  -- the number of requested redeliveries
  failures     INTEGER NOT NULL DEFAULT 0,  -- in this round; they decide the time of the next attempt
  state        TEXT    NOT NULL DEFAULT 'pending',
  due_at       INTEGER                      -- the time of the next attempt; null: none follows
);
-- An event is deleted with its last delivery.
CREATE TRIGGER forget_event AFTER DELETE ON deliveries
WHEN NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = OLD.event_id)
BEGIN
  DELETE FROM events WHERE id = OLD.event_id;
END;
CREATE INDEX deliveries_by_due ON deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_event ON deliveries (event_id);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, state, id);

CREATE TABLE delivery_tries (
  id          INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
  response    BLOB,                         -- the beginning of the response body; null or empty: none
  time        INTEGER NOT NULL,
  status      INTEGER,                      -- null: there was no response
  error       TEXT,                         -- null: delivered
  duration_ms INTEGER NOT NULL
);
CREATE INDEX delivery_tries_by_delivery ON delivery_tries (delivery_id);

CREATE TABLE idempotent_responses (
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  key        TEXT    NOT NULL,
  method     TEXT    NOT NULL,
  path       TEXT    NOT NULL,
  body_hash  BLOB    NOT NULL,
  status     INTEGER NOT NULL,
  response   TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (account_id, key, method, path)
) WITHOUT ROWID;
CREATE INDEX idempotent_responses_by_age ON idempotent_responses (created_at);

-- A run groups the requests of one process of a client, such as a plan or an apply.
-- Its numbers and amounts are totals of these requests.
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL,
  name       TEXT    NOT NULL,     -- empty: the client names no runs, so a pause in its requests ends the run
  requests   INTEGER NOT NULL,
  refused    INTEGER NOT NULL,
  lost       INTEGER NOT NULL,     -- requests for a change whose outcome a fault hid from the client
  changes    INTEGER NOT NULL,     -- requests for a change
  to_cards   INTEGER NOT NULL,     -- from the wallet to cards
  from_cards INTEGER NOT NULL,     -- from cards to the wallet
  fees       INTEGER NOT NULL,
  begun      INTEGER NOT NULL,
  ended      INTEGER NOT NULL,
  last_entry INTEGER NOT NULL      -- the id of its newest row in request_log
);
CREATE INDEX runs_by_name ON runs (account_id, name, id);
CREATE INDEX runs_by_account ON runs (account_id, id);
CREATE INDEX runs_by_changes ON runs (account_id, id) WHERE changes > 0;

CREATE TABLE request_log (
  id              INTEGER PRIMARY KEY,
  account_id      INTEGER NOT NULL,
  run_id          INTEGER NOT NULL REFERENCES runs (id),
  method          TEXT    NOT NULL,
  path            TEXT    NOT NULL,
  query           TEXT    NOT NULL,
  status          INTEGER NOT NULL,              -- 0: there was no response
  error           TEXT    NOT NULL,              -- the code of the error; empty: none
  idempotency_key TEXT    NOT NULL,
  replayed        INTEGER NOT NULL,              -- 1: the response is that of an earlier request with the same key
  card_id         TEXT    NOT NULL,              -- the card of the request, or the issued card
  fault           TEXT    NOT NULL,              -- a description of the applied fault; empty: none
  lost            INTEGER NOT NULL,              -- 1: a fault hid from the client whether the change was made
  duration_us     INTEGER NOT NULL,
  time            INTEGER NOT NULL,
  message         TEXT    NOT NULL,              -- of the error; empty: none
  -- The changes that the request made.
  wallet          INTEGER NOT NULL,              -- the change of the wallet balance
  fee             INTEGER NOT NULL,              -- the service's fee, as a positive amount; wallet includes it
  balance_before  INTEGER NOT NULL,              -- of the card
  balance_after   INTEGER NOT NULL,
  status_before   TEXT    NOT NULL,              -- of the card; empty: there was no card
  status_after    TEXT    NOT NULL,
  entry_id        INTEGER,                       -- the newest ledger entry; null: none
  status_change   INTEGER                        -- the row of status_changes; null: none
);
CREATE INDEX request_log_by_account ON request_log (account_id, id, method, status);
CREATE INDEX request_log_by_run ON request_log (run_id, time, id);
CREATE INDEX request_log_by_card ON request_log (card_id, run_id) WHERE card_id <> '';
CREATE INDEX request_log_by_entry ON request_log (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX request_log_by_status_change ON request_log (status_change) WHERE status_change IS NOT NULL;

-- Limits, quirks and other settings. Those that are not here have their defaults.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL               -- JSON
) WITHOUT ROWID;

-- The method and the path are also in the definition. They have columns of their own,
-- so that the fault for a call is found without decoding definitions.
CREATE TABLE faults (
  id         INTEGER PRIMARY KEY,
  method     TEXT NOT NULL,
  path       TEXT NOT NULL,
  times_left INTEGER,               -- null: until it is deleted
  definition TEXT NOT NULL          -- JSON
);
