-- Sums, and the transactions of many cards, are read from indexes alone.
CREATE INDEX transactions_by_type ON transactions (account_id, type, created_at, amount, fee, card_id);
DROP INDEX transactions_by_account;
CREATE INDEX transactions_by_account ON transactions (account_id, id, type, created_at, card_id);
