-- Processes count calls in memory, and tell each other in batches. A row without
-- a process has all of them forget what they counted.
DROP TABLE counted_calls;
CREATE TABLE counted_calls (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  process    TEXT    NOT NULL,
  account_id INTEGER NOT NULL,
  class      TEXT    NOT NULL,
  time       INTEGER NOT NULL,
  calls      INTEGER NOT NULL
);

-- Each call is matched against all faults; most need no more than this of them.
ALTER TABLE faults ADD COLUMN method TEXT NOT NULL DEFAULT '';
ALTER TABLE faults ADD COLUMN path TEXT NOT NULL DEFAULT '';
UPDATE faults SET method = json_extract(definition, '$.method'), path = json_extract(definition, '$.path');
