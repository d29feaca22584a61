CREATE TABLE webhooks (
  id            INTEGER PRIMARY KEY,
  public_id     TEXT    NOT NULL UNIQUE,
  account_id    INTEGER NOT NULL REFERENCES accounts (id),
  url           TEXT    NOT NULL,
  events        TEXT    NOT NULL,   -- JSON
  secret_sealed BLOB    NOT NULL,
  created_at    INTEGER NOT NULL
);
CREATE INDEX webhooks_by_account ON webhooks (account_id);

-- The outbox: written with the change that an event tells of.
CREATE TABLE events (
  id             INTEGER PRIMARY KEY,
  public_id      TEXT    NOT NULL UNIQUE,
  account_id     INTEGER NOT NULL REFERENCES accounts (id),
  type           TEXT    NOT NULL,
  payload_sealed BLOB    NOT NULL,  -- the body to send; it may hold a one-time code
  created_at     INTEGER NOT NULL
);

CREATE TABLE deliveries (
  id         INTEGER PRIMARY KEY,
  public_id  TEXT    NOT NULL UNIQUE,
  event_id   INTEGER NOT NULL REFERENCES events (id),
  webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
  tries      INTEGER NOT NULL DEFAULT 0,
  due_at     INTEGER               -- null: delivered, or given up
);
CREATE INDEX deliveries_by_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
