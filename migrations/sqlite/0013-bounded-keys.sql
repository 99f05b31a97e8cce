-- A payment has few Idempotency-Keys, and old ones are forgotten: both are found without a look at the rest.
CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
