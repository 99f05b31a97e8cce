-- Who lists. A deleted merchant keeps its row: its id stays with its owner, and its revisions go on.
CREATE TABLE merchants (
  id TEXT PRIMARY KEY,
  owner TEXT,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  revision INTEGER NOT NULL,
  is_official INTEGER NOT NULL DEFAULT 0,
  is_partner INTEGER NOT NULL DEFAULT 0,
  hidden_reason TEXT,
  agent_id TEXT,
  identity TEXT,
  offered_to TEXT,
  offered_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;

CREATE INDEX merchants_pay_to ON merchants (pay_to);
CREATE INDEX merchants_agent ON merchants (id) WHERE agent_id IS NOT NULL;

-- One row an endpoint, for discovery, the catalog and the console alike. AUTOINCREMENT: a number never returns.
CREATE TABLE endpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  position INTEGER NOT NULL,
  url TEXT NOT NULL,
  method TEXT NOT NULL CHECK (method IN ('GET', 'POST')),
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  pricing TEXT NOT NULL CHECK (pricing IN ('fixed', 'metered')),
  price TEXT NOT NULL,
  tags TEXT NOT NULL,
  example TEXT NOT NULL,
  input_schema TEXT,
  output TEXT,
  extras TEXT NOT NULL,
  is_hosted INTEGER NOT NULL DEFAULT 0,
  accepts TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('live', 'unverified', 'failing')),
  probe TEXT,
  failures INTEGER NOT NULL DEFAULT 0,
  next_probe_at INTEGER,
  last_updated INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (merchant_id, url, method)
) STRICT;

CREATE INDEX endpoints_url ON endpoints (url, method);
CREATE INDEX endpoints_due ON endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;

-- The last looks at each endpoint, for its health strip.
CREATE TABLE probes (
  endpoint_id INTEGER NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  checked_at INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, checked_at)
) STRICT, WITHOUT ROWID;

-- Every accepted signed message, for anybody to verify again; a nonce serves an owner once.
CREATE TABLE listing_writes (
  merchant_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  owner TEXT NOT NULL,
  nonce TEXT NOT NULL,
  action TEXT NOT NULL,
  message TEXT NOT NULL,
  body TEXT NOT NULL,
  signature TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, revision),
  UNIQUE (owner, nonce)
) STRICT, WITHOUT ROWID;

-- What changed, in order: how the index of this process and of others follows.
CREATE TABLE catalog_changes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
