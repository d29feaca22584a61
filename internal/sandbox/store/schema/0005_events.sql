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

-- What one endpoint is to be told. A process that sends one leases it, so that
-- another that shares the file does not send it too.
CREATE TABLE deliveries (
  id           INTEGER PRIMARY KEY,
  public_id    TEXT    NOT NULL UNIQUE,
  event_id     INTEGER NOT NULL REFERENCES events (id),
  webhook_id   INTEGER NOT NULL REFERENCES webhooks (id),
  round        INTEGER NOT NULL DEFAULT 0,  -- how often it was asked for again
  failures     INTEGER NOT NULL DEFAULT 0,  -- of this round: the place in the schedule
  due_at       INTEGER,                     -- null: delivered, or given up
  leased_by    TEXT,
  leased_until INTEGER NOT NULL DEFAULT 0   -- by the clock on the wall, which nobody moves
);
CREATE INDEX deliveries_by_due ON deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE delivery_tries (
  id          INTEGER PRIMARY KEY,
  delivery_id INTEGER NOT NULL REFERENCES deliveries (id),
  time        INTEGER NOT NULL,
  status      INTEGER,                      -- null: there was no answer
  error       TEXT,                         -- null: delivered
  duration_ms INTEGER NOT NULL
);
CREATE INDEX delivery_tries_by_delivery ON delivery_tries (delivery_id);
