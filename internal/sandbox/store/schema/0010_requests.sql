-- Calls without a valid key are not kept: anybody can make them.
DELETE FROM request_log WHERE account_id IS NULL;
CREATE INDEX request_log_by_account ON request_log (account_id, id);
