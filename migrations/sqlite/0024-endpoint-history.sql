-- Probes of each endpoint by hour (its first Unix second) and result, for 90 days.
CREATE TABLE probe_hours (
  endpoint_id INTEGER NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  hour INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  count INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, hour, verdict)
) STRICT, WITHOUT ROWID;

-- Prices of each endpoint whenever they changed: `listed` by its owner, or `asked` by its own 402. Amounts are atomic units.
CREATE TABLE endpoint_prices (
  endpoint_id INTEGER NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  source TEXT NOT NULL CHECK (source IN ('listed', 'asked')),
  at INTEGER NOT NULL,
  amount TEXT NOT NULL,
  symbol TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, source, at)
) STRICT, WITHOUT ROWID;
