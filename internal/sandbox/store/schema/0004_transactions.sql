-- The four numbers count, without gaps, a transaction's place in each listing
-- that a filter can ask for, so that any page is a range of an index.
CREATE TABLE transactions (
  id            INTEGER PRIMARY KEY,
  public_id     TEXT    NOT NULL UNIQUE,
  account_id    INTEGER NOT NULL REFERENCES accounts (id),
  card_id       INTEGER NOT NULL REFERENCES cards (id),
  parent_id     INTEGER REFERENCES transactions (id), -- a settlement's authorization, a refund's settlement
  type          TEXT    NOT NULL,
  amount        INTEGER NOT NULL,
  fee           INTEGER NOT NULL,
  merchant_name TEXT    NOT NULL,
  merchant_mcc  TEXT    NOT NULL,
  created_at    INTEGER NOT NULL,          -- never decreases along any of the four numbers
  number        INTEGER NOT NULL,
  type_number   INTEGER NOT NULL,
  card_number   INTEGER NOT NULL,
  card_type_number INTEGER NOT NULL
);
CREATE UNIQUE INDEX transactions_in_account ON transactions (account_id, number);
CREATE UNIQUE INDEX transactions_of_type ON transactions (account_id, type, type_number);
CREATE UNIQUE INDEX transactions_on_card ON transactions (card_id, card_number);
CREATE UNIQUE INDEX transactions_on_card_of_type ON transactions (card_id, type, card_type_number);
CREATE INDEX transactions_by_parent ON transactions (parent_id) WHERE parent_id IS NOT NULL;

-- What the authorizations of a UTC calendar month came to: settled amounts, and
-- held ones as long as they are not settled.
CREATE TABLE card_spending (
  card_id INTEGER NOT NULL REFERENCES cards (id),
  month   TEXT    NOT NULL,                -- YYYY-MM
  amount  INTEGER NOT NULL,
  PRIMARY KEY (card_id, month)
) WITHOUT ROWID;

CREATE TABLE challenges (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  card_id    INTEGER NOT NULL REFERENCES cards (id),
  merchant   TEXT    NOT NULL,
  amount     INTEGER NOT NULL,
  status     TEXT    NOT NULL,  -- pending also when expired: expires_at and the clock decide
  expires_at INTEGER NOT NULL
);
CREATE INDEX challenges_by_account ON challenges (account_id, status, expires_at, id);

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
