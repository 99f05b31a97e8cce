-- Listings of a wallet, for the console.
CREATE INDEX merchants_owner ON merchants (owner) WHERE deleted_at IS NULL;
CREATE INDEX merchants_offered ON merchants (offered_to) WHERE offered_to IS NOT NULL;
-- Payments by transaction are found through attempts; those that somebody else brought on chain have none, and cost us no gas.
CREATE INDEX jobs_found ON jobs ("transaction") WHERE state = 'confirmed' AND gas_cost IS NULL;
