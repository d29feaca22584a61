-- Transactions are listed in the order of their ids. The indexes hold all that a
-- filter asks for, so that rows which an offset skips are never read.
DROP INDEX transactions_in_account;
DROP INDEX transactions_of_type;
DROP INDEX transactions_on_card;
DROP INDEX transactions_on_card_of_type;
ALTER TABLE transactions DROP COLUMN number;
ALTER TABLE transactions DROP COLUMN type_number;
ALTER TABLE transactions DROP COLUMN card_number;
ALTER TABLE transactions DROP COLUMN card_type_number;
CREATE INDEX transactions_by_account ON transactions (account_id, id, type, created_at);
CREATE INDEX transactions_by_card ON transactions (card_id, id, type, created_at);
