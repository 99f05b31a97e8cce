-- One transfer backs one payment: the place of its log in the block is kept with the confirmed job.
ALTER TABLE jobs ADD COLUMN transfer_log BIGINT;

CREATE UNIQUE INDEX jobs_transfer ON jobs ("transaction", transfer_log, network) WHERE transfer_log IS NOT NULL;

-- What verify has seen entitles nobody: verify is open to anybody.
DROP TABLE sightings;
