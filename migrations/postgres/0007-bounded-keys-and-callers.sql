-- A payment has few Idempotency-Keys, and old ones are forgotten: both are found without a look at the rest.
CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- From where words to be signed were asked for and sessions opened, so that few callers do not use them all up.
ALTER TABLE session_nonces ADD COLUMN caller TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN block TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN caller TEXT COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN block TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX session_nonces_caller ON session_nonces (caller, expires_at);
CREATE INDEX session_nonces_block ON session_nonces (block, expires_at);
CREATE INDEX sessions_address ON sessions (address, expires_at);
CREATE INDEX sessions_caller ON sessions (caller, expires_at);
CREATE INDEX sessions_block ON sessions (block, expires_at);
CREATE INDEX sessions_end ON sessions (expires_at);
