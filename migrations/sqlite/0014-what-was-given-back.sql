-- What each payer paid at each address, less what was given back: a payment the other way round, up to that amount, is a
-- refund and no sale. `merchant_id`, `endpoint_id` and `price` are of the latest payment.
CREATE TABLE activity_buyers (
  pay_to TEXT NOT NULL,
  payer TEXT NOT NULL,
  merchant_id TEXT,
  endpoint_id INTEGER,
  is_self INTEGER NOT NULL,
  count INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  price INTEGER NOT NULL,
  PRIMARY KEY (pay_to, payer)
) STRICT, WITHOUT ROWID;

-- A payment counts once, as a sale or as a refund.
DROP INDEX activity_settled;
CREATE UNIQUE INDEX activity_settled ON activity (settlement_id) WHERE state IN ('settled', 'refunded');

-- Any refusal of settle counted as a failed payment, also of what was never signed. Of these sums only the reasons that
-- a sound payment alone can meet stay failures.
UPDATE activity_sums SET state = 'refused'
WHERE kind = 'settle' AND state = 'failed' AND reason NOT IN (
  'invalid_exact_evm_transaction_failed', 'invalid_exact_evm_transfer_event_mismatch',
  'invalid_batch_settlement_evm_deposit_transaction_failed', 'unexpected_settle_error', 'gas_price_too_high',
  'asset_paused', 'pay_to_blocklisted');
