-- Every method, and tools of MCP servers: two tools of one server are two endpoints. The check of the method is part of the
-- table, so the table is made anew, with all numbers as they are.
CREATE TABLE endpoints_new (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  position INTEGER NOT NULL,
  url TEXT NOT NULL,
  method TEXT NOT NULL CHECK (method IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP')),
  -- Empty for what is no tool.
  tool_name TEXT NOT NULL DEFAULT '',
  transport TEXT,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  pricing TEXT NOT NULL CHECK (pricing IN ('fixed', 'metered')),
  price TEXT NOT NULL,
  asset TEXT NOT NULL,
  symbol TEXT NOT NULL,
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
  UNIQUE (merchant_id, url, method, tool_name),
  CHECK ((method = 'MCP') = (tool_name <> ''))
) STRICT;

INSERT INTO endpoints_new (id, merchant_id, position, url, method, title, description, pricing, price, asset, symbol, tags,
  example, input_schema, output, extras, is_hosted, accepts, status, probe, failures, next_probe_at, last_updated, created_at)
SELECT id, merchant_id, position, url, method, title, description, pricing, price, asset, symbol, tags,
  example, input_schema, output, extras, is_hosted, accepts, status, probe, failures, next_probe_at, last_updated, created_at
FROM endpoints;

-- A number never returns, even that of an endpoint which is gone.
DELETE FROM sqlite_sequence WHERE name = 'endpoints_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'endpoints_new', seq FROM sqlite_sequence WHERE name = 'endpoints';

-- Dropping the old table deletes the rows that refer to it, so they are kept elsewhere meanwhile.
CREATE TABLE probes_kept AS SELECT * FROM probes;
CREATE TABLE endpoint_usage_kept AS SELECT * FROM endpoint_usage;

DROP TABLE endpoints;
ALTER TABLE endpoints_new RENAME TO endpoints;

INSERT INTO probes SELECT * FROM probes_kept;
INSERT INTO endpoint_usage SELECT * FROM endpoint_usage_kept;
DROP TABLE probes_kept;
DROP TABLE endpoint_usage_kept;

CREATE INDEX endpoints_url ON endpoints (url, method, tool_name);
CREATE INDEX endpoints_due ON endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;
