-- Calls are listed by their newest tries, however many tries there are.
ALTER TABLE request_log ADD COLUMN superseded INTEGER NOT NULL DEFAULT FALSE; -- by a later try with the same idempotency key
DROP INDEX request_log_by_key;
CREATE INDEX request_log_by_key ON request_log (account_id, idempotency_key, method, path, id) WHERE idempotency_key <> '';
UPDATE request_log SET superseded = TRUE WHERE idempotency_key <> '' AND EXISTS (
  SELECT 1 FROM request_log later WHERE later.account_id = request_log.account_id AND later.idempotency_key <> ''
  AND later.idempotency_key = request_log.idempotency_key AND later.method = request_log.method AND later.path = request_log.path
  AND later.id > request_log.id);
CREATE INDEX request_log_calls ON request_log (account_id, id) WHERE NOT superseded;
