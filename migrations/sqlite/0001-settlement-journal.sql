-- Jobs: what is to be brought on chain exactly once. The key is what the chain itself lets happen only once.
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  network TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  round INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('queued', 'submitted', 'confirmed', 'failed')),
  "to" TEXT NOT NULL,
  calldata TEXT NOT NULL,
  details TEXT NOT NULL,
  seen_block INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  "transaction" TEXT,
  reason TEXT,
  message TEXT,
  block_number INTEGER,
  gas_cost TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  delivery_token TEXT,
  delivery_until INTEGER,
  delivered_at INTEGER,
  delivered_key TEXT,
  UNIQUE (kind, network, key)
) STRICT;

CREATE INDEX jobs_open ON jobs (network) WHERE state IN ('queued', 'submitted');

-- Attempts: signed transactions, kept before they are sent. A slot (relayer, relayer_nonce) may hold several.
CREATE TABLE attempts (
  hash TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  relayer TEXT NOT NULL,
  relayer_nonce INTEGER NOT NULL,
  raw_transaction TEXT NOT NULL,
  gas_limit TEXT NOT NULL,
  max_fee_per_gas TEXT NOT NULL,
  max_priority_fee_per_gas TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  is_open INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE INDEX attempts_slot ON attempts (network, relayer, relayer_nonce) WHERE is_open = 1;

CREATE TABLE attempt_jobs (
  hash TEXT NOT NULL REFERENCES attempts (hash),
  position INTEGER NOT NULL,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (hash, position)
) STRICT, WITHOUT ROWID;

-- The next nonce each relayer signs; the chain's own count is its floor.
CREATE TABLE lanes (
  network TEXT NOT NULL,
  relayer TEXT NOT NULL,
  next_nonce INTEGER NOT NULL,
  PRIMARY KEY (network, relayer)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When an authorization was first seen unused: what lets a payment submitted by others count as paid.
CREATE TABLE sightings (
  network TEXT NOT NULL,
  digest TEXT NOT NULL,
  block_number INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (network, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX sightings_expiry ON sightings (expires_at);
