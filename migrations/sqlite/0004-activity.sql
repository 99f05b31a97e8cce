-- One row an answer of verify or settle; kept for a while, then only the sums below remain.
CREATE TABLE activity (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('verify', 'settle')),
  network TEXT NOT NULL,
  merchant_id TEXT,
  endpoint_id INTEGER,
  resource TEXT,
  pay_to TEXT NOT NULL,
  payer TEXT NOT NULL,
  amount TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  "transaction" TEXT,
  settlement_id TEXT,
  latency_ms INTEGER NOT NULL,
  gas_cost TEXT,
  is_self INTEGER NOT NULL
) STRICT;

CREATE INDEX activity_of_merchant ON activity (merchant_id, id);
-- A payment counts as settled once, however often its success is told.
CREATE UNIQUE INDEX activity_settled ON activity (settlement_id) WHERE state = 'settled';

-- Sums by hour and day ('h', 'd'; bucket is its first Unix second). Merchant '' is everybody, endpoint 0 none.
-- Amounts are atomic units; gas is in 10^-12 dollars, so that sums stay within 64 bits.
CREATE TABLE activity_sums (
  span TEXT NOT NULL CHECK (span IN ('h', 'd')),
  merchant_id TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  is_self INTEGER NOT NULL,
  count INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  gas INTEGER NOT NULL,
  PRIMARY KEY (span, merchant_id, bucket, endpoint_id, kind, state, reason, is_self)
) STRICT, WITHOUT ROWID;

-- How long answers took: count of those at or below `up_to_ms` and above the step before it.
CREATE TABLE activity_latencies (
  span TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  up_to_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (span, merchant_id, bucket, endpoint_id, kind, up_to_ms)
) STRICT, WITHOUT ROWID;

-- Who paid: settled payments only, self-payments left out.
CREATE TABLE activity_payers (
  span TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  payer TEXT NOT NULL,
  count INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (span, merchant_id, bucket, endpoint_id, payer)
) STRICT, WITHOUT ROWID;
