BEGIN;

-- 10,000 cards, each issued with a load of 60 USD.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
INSERT INTO ledger_accounts (id, account_id, kind, balance)
SELECT 1000000 + i, 1, 'card', 6000 FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
INSERT INTO cards (id, public_id, account_id, ledger_account_id, bin_id, last4, status, loaded, spending_limit, label,
                   allowed_categories, auto_freeze_at, metadata, created_at, expires_at)
SELECT i, printf('card_benchmark%08d', i), 1, 1000000 + i, 'bin_ads_visa_us', printf('%04d', i % 10000),
       CASE WHEN i % 10 = 0 THEN 'frozen' ELSE 'active' END, 6000, 5000000, printf('campaign %d', i),
       '["advertising"]', 1000, '{"team":"ads"}', 1767225600000 + i, '2029-01-31'
FROM n;

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
INSERT INTO ledger_entries (id, account_id, kind, card_account_id, created_at)
SELECT 1000000 + i, 1, 'card issued', 1000000 + i, 1767225600000 + i FROM n;

INSERT INTO ledger_postings (entry_id, ledger_account_id, amount, balance)
SELECT e.id, e.id, 6000, 6000 FROM ledger_entries e WHERE e.id > 1000000
UNION ALL
SELECT e.id, l.id, CASE l.kind WHEN 'wallet' THEN -6100 ELSE 100 END, 0
FROM ledger_entries e, ledger_accounts l
WHERE e.id > 1000000 AND l.account_id = 1 AND l.kind IN ('wallet', 'fees');

UPDATE ledger_accounts SET balance = (SELECT SUM(p.amount) FROM ledger_postings p WHERE p.ledger_account_id = ledger_accounts.id)
WHERE account_id = 1 AND kind IN ('wallet', 'fees');

-- 100,000 declines, one every 20 seconds, on all cards in turn.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000 - 1)
INSERT INTO transactions (id, public_id, account_id, card_id, type, state, amount, fee, merchant_name, merchant_mcc, decline_reason, decline_facts, created_at)
SELECT i + 1, printf('txn_benchmark%08d', i + 1), 1, 1 + i % 10000, 'decline', 'declined', 1250, 0, 'Big Ads', '7311', 'insufficient_funds', '{"asked":12.50}', 1767225700000 + i * 20000
FROM n;

INSERT INTO daily_sums (account_id, card_id, day, purchases, declines, held, settled, refunded, fees)
SELECT account_id, card_id, created_at / 86400000, COUNT(*), COUNT(*), 0, 0, 0, 0 FROM transactions GROUP BY 2, 3
UNION ALL
SELECT account_id, 0, created_at / 86400000, COUNT(*), COUNT(*), 0, 0, 0, 0 FROM transactions GROUP BY 3;

-- Every card has spent something this month.
INSERT INTO card_spending (card_id, month, amount) SELECT id, strftime('%Y-%m', 'now'), 100 + id FROM cards;

-- 100,000 requests in 1,000 runs.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO runs (id, account_id, name, requests, refused, lost, changes, to_cards, from_cards, fees, begun, ended, last_entry)
SELECT i, 1, printf('%08x', i), 100, 0, 0, 100, 0, 0, 0, 1767225700000 + i * 100, 1767225700000 + i * 100 + 99, i * 100 FROM n;

WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000 - 1)
INSERT INTO request_log (id, account_id, run_id, method, path, query, status, error, idempotency_key, replayed, card_id, fault, lost, duration_us, time,
                         message, wallet, fee, balance_before, balance_after, status_before, status_after)
SELECT i + 1, 1, 1 + i / 100, 'POST', '/cards', '', 503, 'unavailable', printf('key %d', i), FALSE, '', '', FALSE, 1500, 1767225700000 + i,
       'the sandbox is busy', 0, 0, 0, 0, '', ''
FROM n;

COMMIT;
