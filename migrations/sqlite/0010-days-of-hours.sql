-- A payment was added to its hour and to its day. From now on it is added to its hour alone, hours become days when they
-- are no longer looked at apart, and a day is read together with its hours: half as many sums a payment. What stands in
-- an hour leaves its day here.

UPDATE activity_sums SET
  count = activity_sums.count - hours.count,
  amount = max(0, activity_sums.amount - hours.amount),
  gas = max(0, activity_sums.gas - hours.gas)
FROM (SELECT merchant_id, bucket - bucket % 86400 AS day, endpoint_id, kind, state, reason, is_self, sum(count) AS count, sum(amount) AS amount, sum(gas) AS gas FROM activity_sums
  WHERE span = 'h' GROUP BY merchant_id, day, endpoint_id, kind, state, reason, is_self) AS hours
WHERE activity_sums.span = 'd' AND activity_sums.bucket = hours.day
  AND activity_sums.merchant_id = hours.merchant_id
  AND activity_sums.endpoint_id = hours.endpoint_id
  AND activity_sums.kind = hours.kind
  AND activity_sums.state = hours.state
  AND activity_sums.reason = hours.reason
  AND activity_sums.is_self = hours.is_self;
DELETE FROM activity_sums WHERE span = 'd' AND count <= 0;

UPDATE activity_latencies SET
  count = activity_latencies.count - hours.count
FROM (SELECT merchant_id, bucket - bucket % 86400 AS day, endpoint_id, kind, up_to_ms, sum(count) AS count FROM activity_latencies
  WHERE span = 'h' GROUP BY merchant_id, day, endpoint_id, kind, up_to_ms) AS hours
WHERE activity_latencies.span = 'd' AND activity_latencies.bucket = hours.day
  AND activity_latencies.merchant_id = hours.merchant_id
  AND activity_latencies.endpoint_id = hours.endpoint_id
  AND activity_latencies.kind = hours.kind
  AND activity_latencies.up_to_ms = hours.up_to_ms;
DELETE FROM activity_latencies WHERE span = 'd' AND count <= 0;

UPDATE activity_payers SET
  count = activity_payers.count - hours.count,
  amount = max(0, activity_payers.amount - hours.amount)
FROM (SELECT merchant_id, bucket - bucket % 86400 AS day, endpoint_id, payer, sum(count) AS count, sum(amount) AS amount FROM activity_payers
  WHERE span = 'h' GROUP BY merchant_id, day, endpoint_id, payer) AS hours
WHERE activity_payers.span = 'd' AND activity_payers.bucket = hours.day
  AND activity_payers.merchant_id = hours.merchant_id
  AND activity_payers.endpoint_id = hours.endpoint_id
  AND activity_payers.payer = hours.payer;
DELETE FROM activity_payers WHERE span = 'd' AND count <= 0;
