-- What the control calls changed about the service; what is not here is as usual.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL               -- JSON
) WITHOUT ROWID;

CREATE TABLE faults (
  id         INTEGER PRIMARY KEY,
  times_left INTEGER,               -- null: until it is deleted
  definition TEXT NOT NULL          -- JSON
);

-- The calls of the last hour that count towards limits, numbered without gaps in
-- each class, so that one look at a number tells whether a window is full.
CREATE TABLE counted_calls (
  account_id INTEGER NOT NULL REFERENCES accounts (id),
  class      TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  time       INTEGER NOT NULL,      -- never decreases along the numbers
  PRIMARY KEY (account_id, class, number)
) WITHOUT ROWID;
