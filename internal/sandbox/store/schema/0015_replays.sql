-- Calls are shown together with the others of their idempotency key.
ALTER TABLE request_log ADD COLUMN replayed INTEGER NOT NULL DEFAULT FALSE;
CREATE INDEX request_log_by_key ON request_log (account_id, idempotency_key, id) WHERE idempotency_key <> '';
