-- Nothing is sent to a webhook before its receiver answered a challenge: `confirmed_at` is NULL until then. Places and pace
-- go by the owner and by the host of the URL. `hook_replays` has the last replay of each owner, for some minutes.
ALTER TABLE hooks ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE hooks ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE hooks ADD COLUMN confirmed_at INTEGER;

CREATE TABLE hook_replays (
  owner TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
