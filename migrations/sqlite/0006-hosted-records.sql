-- What hosted endpoints keep: channels with their vouchers, refunds. Each body is JSON of whoever wrote it.
CREATE TABLE hosted_records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) WITHOUT ROWID;
