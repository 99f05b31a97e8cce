-- Webhooks of merchants, and the operator's own under the id 'operator'. `cursor` is the last event that was delivered or
-- passed over. `next_at` is the time of the next delivery, and NULL while there is nothing to deliver. A worker delivers
-- until the end of its lease. The secret follows from the seed and, if `key_id` names one, from a key in the settings.
CREATE TABLE hooks (
  id TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL,
  url TEXT NOT NULL,
  types TEXT NOT NULL,
  seed TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  cursor INTEGER NOT NULL,
  next_at INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  parked TEXT,
  delivered_at INTEGER,
  last_error TEXT,
  lost INTEGER NOT NULL DEFAULT 0,
  worker TEXT,
  lease_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX hooks_of_merchant ON hooks (merchant_id);
CREATE INDEX hooks_due ON hooks (next_at) WHERE next_at IS NOT NULL;

-- Signed messages about webhooks that were accepted, until their deadlines pass. They are not in the history of listings,
-- which is public, because a URL may hold a password.
CREATE TABLE hook_nonces (
  owner TEXT NOT NULL,
  nonce TEXT NOT NULL,
  deadline INTEGER NOT NULL,
  PRIMARY KEY (owner, nonce)
) STRICT, WITHOUT ROWID;
