-- The same figures for each merchant as a whole, with payments that are for no endpoint.
CREATE TABLE merchant_usage (
  merchant_id TEXT COLLATE "C" PRIMARY KEY REFERENCES merchants (id) ON DELETE CASCADE,
  version BIGINT NOT NULL UNIQUE,
  figures TEXT COLLATE "C" NOT NULL,
  due_at BIGINT
);

CREATE INDEX merchant_usage_due ON merchant_usage (due_at) WHERE due_at IS NOT NULL;

-- The next refresh looks at all activity once more, so that merchants which were paid before have figures too.
UPDATE usage_refresh SET seen = 0, seen_before = 0;
