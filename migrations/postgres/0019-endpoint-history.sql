-- Probes of each endpoint by hour (its first Unix second) and result, for 90 days.
CREATE TABLE probe_hours (
  endpoint_id BIGINT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  hour BIGINT NOT NULL,
  verdict TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  ms BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, hour, verdict)
);

-- Prices of each endpoint whenever they changed: `listed` by its owner, or `asked` by its own 402. Amounts are atomic units.
CREATE TABLE endpoint_prices (
  endpoint_id BIGINT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  source TEXT COLLATE "C" NOT NULL CHECK (source IN ('listed', 'asked')),
  at BIGINT NOT NULL,
  amount TEXT COLLATE "C" NOT NULL,
  symbol TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (endpoint_id, source, at)
);
