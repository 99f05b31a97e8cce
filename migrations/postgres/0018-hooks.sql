-- Webhooks of merchants, and the operator's own under the id 'operator'. `cursor` is the last event that was delivered or
-- passed over. `next_at` is the time of the next delivery, and NULL while there is nothing to deliver. A worker delivers
-- until the end of its lease. The secret follows from the seed and, if `key_id` names one, from a key in the settings.
CREATE TABLE hooks (
  id TEXT COLLATE "C" PRIMARY KEY,
  merchant_id TEXT COLLATE "C" NOT NULL,
  url TEXT NOT NULL,
  types TEXT NOT NULL,
  seed TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  cursor BIGINT NOT NULL,
  next_at BIGINT,
  failures BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT,
  parked TEXT,
  delivered_at BIGINT,
  last_error TEXT,
  lost BIGINT NOT NULL DEFAULT 0,
  worker TEXT,
  lease_until BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX hooks_of_merchant ON hooks (merchant_id);
CREATE INDEX hooks_due ON hooks (next_at) WHERE next_at IS NOT NULL;

-- Signed messages about webhooks that were accepted, until their deadlines pass. They are not in the history of listings,
-- which is public, because a URL may hold a password.
CREATE TABLE hook_nonces (
  owner TEXT COLLATE "C" NOT NULL,
  nonce TEXT COLLATE "C" NOT NULL,
  deadline BIGINT NOT NULL,
  PRIMARY KEY (owner, nonce)
);
