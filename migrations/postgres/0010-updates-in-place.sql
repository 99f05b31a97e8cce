-- A payment changes four times. A change stays on its page, and leaves every index alone, only if no index names a changed
-- column and the page has room: so no index of jobs may name a column that changes in the usual life of a payment, and
-- pages are filled by half. The journal is written anew once, and nothing else can use it meanwhile.
DROP INDEX jobs_found, jobs_open, jobs_offered, jobs_transfer;

ALTER TABLE jobs
  ADD COLUMN is_open BOOLEAN NOT NULL GENERATED ALWAYS AS (state IN ('queued', 'submitted')) STORED,
  -- The transaction of a confirmed job. What only was signed is not in an index.
  ADD COLUMN settled_in TEXT GENERATED ALWAYS AS (CASE WHEN state = 'confirmed' THEN "transaction" END) STORED,
  SET (fillfactor = 50);

CREATE INDEX jobs_open ON jobs (network, created_at) WHERE is_open;
CREATE INDEX jobs_offered ON jobs (network, created_at) WHERE is_open AND worker IS NULL;
-- One transfer backs one payment.
CREATE UNIQUE INDEX jobs_settled ON jobs (settled_in, transfer_log, network) WHERE settled_in IS NOT NULL;

-- What follows is in functions, because a statement sees the database as it was before it waited for a lock, and each query
-- of a function as it is when its turn comes.

-- Gas that bearers of a budget burnt on a day, and what transactions under way since a time reserve of it, without one slot.
-- Whoever asks for a bearer to reserve from it waits until the one before has ended.
CREATE FUNCTION gas_of_bearers(bearers TEXT[], reserving TEXT[], on_network TEXT, on_day TEXT, since BIGINT, own_relayer TEXT, own_nonce BIGINT)
RETURNS TABLE (bearer TEXT, burnt NUMERIC, reserved NUMERIC) LANGUAGE plpgsql VOLATILE AS $$
DECLARE name TEXT;
BEGIN
  FOR name IN SELECT b FROM unnest(reserving) AS b ORDER BY b COLLATE "C" LOOP
    PERFORM pg_advisory_xact_lock(hashtextextended(on_network || '/' || name, 0));
  END LOOP;
  -- One query, so that a slot that closes meanwhile counts either as reserved or as booked.
  RETURN QUERY SELECT b,
    coalesce((SELECT g.amount FROM gas_spending g WHERE g.network = on_network AND g.day = on_day AND g.payer = b), 0),
    coalesce((SELECT sum(slots.most) FROM (
      SELECT max(r.amount) AS most FROM gas_risks r JOIN attempts a ON a.hash = r.hash
      WHERE r.bearer = b AND a.network = on_network AND a.is_open = 1 AND a.created_at > since
        AND NOT (a.relayer = own_relayer AND a.relayer_nonce = own_nonce)
      GROUP BY a.relayer, a.relayer_nonce) AS slots), 0)
  FROM unnest(bearers) AS b;
END $$;

-- Closes a slot under the lease of its lane, with every transaction that was signed for it, and frees the gas reserved for
-- them. A transaction that is being kept at this moment is waited for, so that it is closed too. Returns how many there
-- were, or null when the lease is not held.
CREATE FUNCTION close_slot(lease TEXT, holder TEXT, in_epoch BIGINT, on_network TEXT, of_relayer TEXT, of_nonce BIGINT)
RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $$
DECLARE hashes TEXT[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(lease, 0));
  PERFORM 1 FROM leases
  WHERE name = lease AND owner = holder AND epoch = in_epoch AND lease_until > clock_timestamp() FOR KEY SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  WITH closed AS (
    UPDATE attempts SET is_open = 0
    WHERE network = on_network AND relayer = of_relayer AND relayer_nonce = of_nonce AND is_open = 1 RETURNING hash)
  SELECT coalesce(array_agg(hash), '{}') INTO hashes FROM closed;
  DELETE FROM gas_risks WHERE hash = ANY(hashes);
  RETURN cardinality(hashes);
END $$;
