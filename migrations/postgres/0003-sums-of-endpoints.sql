-- A merchant's endpoint 0 held everything of it, each endpoint's sums once more. From now on it holds what is of no
-- endpoint, and the whole is added up where it is read: a payment writes half as many sums.

UPDATE activity_sums SET
  count = activity_sums.count - parts.count,
  amount = greatest(0, activity_sums.amount - parts.amount),
  gas = greatest(0, activity_sums.gas - parts.gas)
FROM (SELECT span, merchant_id, bucket, kind, state, reason, is_self, sum(count) AS count, sum(amount) AS amount, sum(gas) AS gas FROM activity_sums
  WHERE endpoint_id > 0 GROUP BY span, merchant_id, bucket, kind, state, reason, is_self) AS parts
WHERE activity_sums.endpoint_id = 0 AND activity_sums.merchant_id <> ''
  AND activity_sums.span = parts.span
  AND activity_sums.merchant_id = parts.merchant_id
  AND activity_sums.bucket = parts.bucket
  AND activity_sums.kind = parts.kind
  AND activity_sums.state = parts.state
  AND activity_sums.reason = parts.reason
  AND activity_sums.is_self = parts.is_self;
DELETE FROM activity_sums WHERE endpoint_id = 0 AND merchant_id <> '' AND count <= 0;

UPDATE activity_latencies SET
  count = activity_latencies.count - parts.count
FROM (SELECT span, merchant_id, bucket, kind, up_to_ms, sum(count) AS count FROM activity_latencies
  WHERE endpoint_id > 0 GROUP BY span, merchant_id, bucket, kind, up_to_ms) AS parts
WHERE activity_latencies.endpoint_id = 0 AND activity_latencies.merchant_id <> ''
  AND activity_latencies.span = parts.span
  AND activity_latencies.merchant_id = parts.merchant_id
  AND activity_latencies.bucket = parts.bucket
  AND activity_latencies.kind = parts.kind
  AND activity_latencies.up_to_ms = parts.up_to_ms;
DELETE FROM activity_latencies WHERE endpoint_id = 0 AND merchant_id <> '' AND count <= 0;

UPDATE activity_payers SET
  count = activity_payers.count - parts.count,
  amount = greatest(0, activity_payers.amount - parts.amount)
FROM (SELECT span, merchant_id, bucket, payer, sum(count) AS count, sum(amount) AS amount FROM activity_payers
  WHERE endpoint_id > 0 GROUP BY span, merchant_id, bucket, payer) AS parts
WHERE activity_payers.endpoint_id = 0 AND activity_payers.merchant_id <> ''
  AND activity_payers.span = parts.span
  AND activity_payers.merchant_id = parts.merchant_id
  AND activity_payers.bucket = parts.bucket
  AND activity_payers.payer = parts.payer;
DELETE FROM activity_payers WHERE endpoint_id = 0 AND merchant_id <> '' AND count <= 0;
