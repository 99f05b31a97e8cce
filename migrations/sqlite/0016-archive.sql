-- A decided payment that is in the archive keeps what lookups, repeats and unique keys need: its calldata is gone, and its
-- details are shorter. Rows that are not in the archive yet are found in the order of their creation.
ALTER TABLE jobs ADD COLUMN archived_at INTEGER;

CREATE INDEX jobs_unarchived ON jobs (created_at) WHERE archived_at IS NULL;
CREATE INDEX attempts_unarchived ON attempts (created_at) WHERE raw_transaction <> '0x';
