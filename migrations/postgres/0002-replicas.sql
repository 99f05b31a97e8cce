-- What only several processes on one database need; SQLite has none of it.

-- Processes that live, each as long as it keeps saying so.
CREATE TABLE replicas (
  id TEXT COLLATE "C" PRIMARY KEY,
  alive_until TIMESTAMPTZ NOT NULL
);

-- Who works for a wallet, or looks after the house. The epoch rises each time a lease changes hands: what was begun
-- under an earlier one can write no more.
CREATE TABLE leases (
  name TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT COLLATE "C",
  epoch BIGINT NOT NULL,
  lease_until TIMESTAMPTZ NOT NULL
);

-- The process that brings a job on chain; null while the job is offered to whoever has a lane free.
ALTER TABLE jobs ADD COLUMN worker TEXT COLLATE "C";

CREATE INDEX jobs_offered ON jobs (network, created_at) WHERE worker IS NULL AND state IN ('queued', 'submitted');

-- Signed-in readers, by the SHA-256 of what their cookie holds, and the words given out to be signed.
CREATE TABLE sessions (
  digest TEXT COLLATE "C" PRIMARY KEY,
  address TEXT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE session_nonces (
  nonce TEXT COLLATE "C" PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

CREATE INDEX session_nonces_end ON session_nonces (expires_at);

-- Requests of a caller in its window, counted by all processes together. A crash of the database may forget them.
CREATE UNLOGGED TABLE request_counts (
  caller TEXT COLLATE "C" PRIMARY KEY,
  count BIGINT NOT NULL,
  ends_at BIGINT NOT NULL
);
