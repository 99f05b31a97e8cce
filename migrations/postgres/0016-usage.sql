-- Figures of the payments for each endpoint, as discovery publishes them: JSON that is refreshed from the sums. Readers
-- follow the rising `version`. At `due_at` (Unix seconds) the figures change without a payment, because hours pass.
CREATE TABLE endpoint_usage (
  endpoint_id BIGINT PRIMARY KEY REFERENCES endpoints (id) ON DELETE CASCADE,
  version BIGINT NOT NULL UNIQUE,
  figures TEXT COLLATE "C" NOT NULL,
  due_at BIGINT
);

CREATE INDEX endpoint_usage_due ON endpoint_usage (due_at) WHERE due_at IS NOT NULL;

-- One row. `seen` is the last row of activity that a refresh has looked at, `seen_before` that of the refresh before it.
-- `version` counts up.
CREATE TABLE usage_refresh (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  seen BIGINT NOT NULL,
  seen_before BIGINT NOT NULL,
  version BIGINT NOT NULL
);
