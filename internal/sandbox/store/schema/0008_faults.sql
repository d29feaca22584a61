-- A path was a pattern of another kind: what it matched can no longer be said.
DELETE FROM faults;
