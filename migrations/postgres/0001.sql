-- The schema of PostgreSQL. It has the tables, columns and meanings of the one of SQLite, so that rows move over one to one,
-- and what several processes on one database need. Texts are compared byte by byte in both ("C"); numbers, flags included,
-- are BIGINT where SQLite has INTEGER. Times are Unix milliseconds or seconds, as the stores say.

-- Settling ------------------------------------------------------------------------------------------------------------

-- Jobs: what is to be brought on chain exactly once. The key is what the chain itself lets happen only once. An old job
-- has no calldata ('0x').
--
-- A payment changes four times. A change stays on its page, and leaves every index alone, only if no index names a changed
-- column and the page has room: so no index may name a column that changes in the usual life of a payment, and pages are
-- filled by half.
CREATE TABLE jobs (
  id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL,
  network TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  digest TEXT NOT NULL,
  round BIGINT NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('queued', 'submitted', 'confirmed', 'failed')),
  is_open BOOLEAN NOT NULL GENERATED ALWAYS AS (state IN ('queued', 'submitted')) STORED,
  -- The process that brings it on chain; null while it is offered to any process with a free lane.
  worker TEXT COLLATE "C",
  "to" TEXT NOT NULL,
  calldata TEXT NOT NULL,
  details TEXT NOT NULL,
  -- What was paid for. A job that fails loses it: strangers can make such jobs at no cost.
  resource TEXT,
  seen_block BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  "transaction" TEXT,
  -- The transaction of a confirmed job. What only was signed is not in an index.
  settled_in TEXT GENERATED ALWAYS AS (CASE WHEN state = 'confirmed' THEN "transaction" END) STORED,
  -- The place in its block of the transfer that backs a confirmed job.
  transfer_log BIGINT,
  block_number BIGINT,
  -- The block after its end in which a failed job was found unused or used.
  unused_block BIGINT,
  used_block BIGINT,
  -- When a failed job may be looked at once more, and when one is over that was found unused. Other jobs have neither, so
  -- that no index of theirs changes while a payment settles.
  unread_from BIGINT GENERATED ALWAYS AS (
    CASE WHEN state = 'failed' AND unused_block IS NULL AND used_block IS NULL THEN expires_at END) STORED,
  unused_from BIGINT GENERATED ALWAYS AS (
    CASE WHEN state = 'failed' AND unused_block IS NOT NULL THEN expires_at END) STORED,
  gas_cost TEXT,
  reason TEXT,
  message TEXT,
  -- The key's address, the time and the signature of the attestation, as JSON.
  attestation TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  delivery_token TEXT,
  delivery_until BIGINT,
  delivered_at BIGINT,
  delivered_key TEXT,
  UNIQUE (kind, network, key)
) WITH (fillfactor = 50);

CREATE INDEX jobs_open ON jobs (network, created_at) WHERE is_open;
CREATE INDEX jobs_offered ON jobs (network, created_at) WHERE is_open AND worker IS NULL;
-- One transfer backs one payment.
CREATE UNIQUE INDEX jobs_settled ON jobs (settled_in, transfer_log, network) WHERE settled_in IS NOT NULL;
-- Failed jobs that the chain is asked about once their time is over, and those that can go afterwards.
CREATE INDEX jobs_unread ON jobs (unread_from, id) WHERE unread_from IS NOT NULL;
CREATE INDEX jobs_unused ON jobs (unused_from) WHERE unused_from IS NOT NULL;
CREATE INDEX jobs_whole ON jobs (created_at) WHERE calldata <> '0x';

-- Attempts: signed transactions, kept before they are sent. A slot (relayer, relayer_nonce) may hold several. An old one
-- has no bytes ('0x').
CREATE TABLE attempts (
  hash TEXT COLLATE "C" PRIMARY KEY,
  network TEXT COLLATE "C" NOT NULL,
  relayer TEXT COLLATE "C" NOT NULL,
  relayer_nonce BIGINT NOT NULL,
  raw_transaction TEXT NOT NULL,
  gas_limit TEXT NOT NULL,
  max_fee_per_gas TEXT NOT NULL,
  max_priority_fee_per_gas TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  is_open BIGINT NOT NULL DEFAULT 1
);

CREATE INDEX attempts_slot ON attempts (network, relayer, relayer_nonce) WHERE is_open = 1;
CREATE INDEX attempts_whole ON attempts (created_at) WHERE raw_transaction <> '0x';

CREATE TABLE attempt_jobs (
  hash TEXT COLLATE "C" NOT NULL REFERENCES attempts (hash),
  position BIGINT NOT NULL,
  job_id TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (hash, position)
);

CREATE INDEX attempt_jobs_job ON attempt_jobs (job_id);

-- The next nonce that each relayer signs; the chain's own count is its floor.
CREATE TABLE lanes (
  network TEXT COLLATE "C" NOT NULL,
  relayer TEXT COLLATE "C" NOT NULL,
  next_nonce BIGINT NOT NULL,
  PRIMARY KEY (network, relayer)
);

-- A payment has few Idempotency-Keys, and old ones are forgotten: both are found without a look at the rest.
CREATE TABLE idempotency_keys (
  key TEXT COLLATE "C" PRIMARY KEY,
  job_id TEXT COLLATE "C" NOT NULL REFERENCES jobs (id),
  created_at BIGINT NOT NULL
);

CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The books of gas by day. `payer` is an account, '' for the total of the day, or another name of
-- src/facilitator/journal/budgets.ts.
CREATE TABLE gas_spending (
  network TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL,
  payer TEXT COLLATE "C" NOT NULL,
  amount NUMERIC(78) NOT NULL,
  PRIMARY KEY (network, day, payer)
);

-- Who paid whom more than the gas of it, and the first and the last day of that: the standing of recipients comes from it.
CREATE TABLE customers (
  network TEXT COLLATE "C" NOT NULL,
  pay_to TEXT COLLATE "C" NOT NULL,
  payer TEXT COLLATE "C" NOT NULL,
  day TEXT COLLATE "C" NOT NULL,
  last_day TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (network, pay_to, payer)
);

CREATE INDEX customers_payer ON customers (network, payer);
CREATE INDEX customers_age ON customers (network, last_day);

-- What a signed transaction may burn at worst is reserved from budgets until its slot closes. A budget is a name of the
-- books: an account, a caller, or everybody.
CREATE TABLE gas_risks (
  hash TEXT COLLATE "C" NOT NULL REFERENCES attempts (hash),
  budget TEXT COLLATE "C" NOT NULL,
  amount NUMERIC(78) NOT NULL,
  PRIMARY KEY (hash, budget)
);

CREATE INDEX gas_risks_budget ON gas_risks (budget);

-- What follows is in functions, because a statement sees the database as it was before it waited for a lock, and each query
-- of a function as it is when its turn comes.

-- Gas that each budget burnt on a day, and what transactions under way since a time reserve of it, without one slot.
-- Whoever asks to reserve from a budget waits until the one before has ended.
CREATE FUNCTION gas_of_budgets(budgets TEXT[], reserving TEXT[], on_network TEXT, on_day TEXT, since BIGINT, own_relayer TEXT, own_nonce BIGINT)
RETURNS TABLE (budget TEXT, burnt NUMERIC, reserved NUMERIC) LANGUAGE plpgsql VOLATILE AS $$
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
      WHERE r.budget = b AND a.network = on_network AND a.is_open = 1 AND a.created_at > since
        AND NOT (a.relayer = own_relayer AND a.relayer_nonce = own_nonce)
      GROUP BY a.relayer, a.relayer_nonce) AS slots), 0)
  FROM unnest(budgets) AS b;
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

-- Processes and sessions ----------------------------------------------------------------------------------------------

-- Processes that live, each as long as it keeps saying so.
CREATE TABLE replicas (
  id TEXT COLLATE "C" PRIMARY KEY,
  -- 'facilitator' or 'directory': each half divides its leases among its own processes.
  half TEXT COLLATE "C" NOT NULL,
  alive_until TIMESTAMPTZ NOT NULL
);

-- Which process works for a wallet, or does the work that one does for all. The epoch rises each time a lease changes
-- hands: what was begun under an earlier one can write no more.
CREATE TABLE leases (
  name TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT COLLATE "C",
  epoch BIGINT NOT NULL,
  lease_until TIMESTAMPTZ NOT NULL
);

-- Signed-in readers, by the SHA-256 of what their cookie holds. `caller` and `block` are where the session was opened, so
-- that few callers do not use up all of them.
CREATE TABLE sessions (
  digest TEXT COLLATE "C" PRIMARY KEY,
  address TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  caller TEXT COLLATE "C" NOT NULL,
  block TEXT COLLATE "C" NOT NULL
);

CREATE INDEX sessions_address ON sessions (address, expires_at);
CREATE INDEX sessions_caller ON sessions (caller, expires_at);
CREATE INDEX sessions_block ON sessions (block, expires_at);
CREATE INDEX sessions_end ON sessions (expires_at);

-- Nonces given out to be signed.
CREATE TABLE session_nonces (
  nonce TEXT COLLATE "C" PRIMARY KEY,
  expires_at BIGINT NOT NULL,
  caller TEXT COLLATE "C" NOT NULL,
  block TEXT COLLATE "C" NOT NULL
);

CREATE INDEX session_nonces_caller ON session_nonces (caller, expires_at);
CREATE INDEX session_nonces_block ON session_nonces (block, expires_at);
CREATE INDEX session_nonces_end ON session_nonces (expires_at);

-- Requests of a caller in its window, counted by all processes together. A crash of the database may forget them.
CREATE UNLOGGED TABLE request_counts (
  caller TEXT COLLATE "C" PRIMARY KEY,
  count BIGINT NOT NULL,
  ends_at BIGINT NOT NULL
);

-- The operator --------------------------------------------------------------------------------------------------------

-- Payers and recipients that the operator refuses.
CREATE TABLE blocks (
  role TEXT COLLATE "C" NOT NULL CHECK (role IN ('payer', 'payTo')),
  address TEXT COLLATE "C" NOT NULL,
  reason TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (role, address)
);

-- The decisions of operators, in the order they were made. Rows are added, never changed and never removed.
CREATE TABLE audit (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  details TEXT NOT NULL
);

CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit trail is append-only';
END $$;

CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit();

-- Listings ------------------------------------------------------------------------------------------------------------

-- Sellers. A deleted merchant keeps its row: its id stays with its owner, and its revisions go on.
CREATE TABLE merchants (
  id TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  revision BIGINT NOT NULL,
  is_official BIGINT NOT NULL,
  is_partner BIGINT NOT NULL,
  hidden_reason TEXT,
  agent_id TEXT,
  identity TEXT,
  offered_to TEXT,
  offered_until BIGINT,
  -- The owner that the key which is paid confirmed; it counts while the listing still has both.
  confirmed_owner TEXT,
  confirmed_pay_to TEXT,
  -- What the name looks like, and the number of the change with which the merchant took it.
  name_look TEXT NOT NULL,
  -- The same where no older name of another owner has it within: then it is no common word, and is protected in longer names.
  name_word TEXT,
  named_with BIGINT NOT NULL,
  -- The merchant of another owner whose name this one shows, or its own id for words that only the operator's merchants may
  -- show; and the field that shows it.
  name_like TEXT,
  name_like_at TEXT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT
);

CREATE INDEX merchants_pay_to ON merchants (pay_to);
CREATE INDEX merchants_owner ON merchants (owner) WHERE deleted_at IS NULL;
CREATE INDEX merchants_offered ON merchants (offered_to) WHERE offered_to IS NOT NULL;
CREATE INDEX merchants_agent ON merchants (id) WHERE agent_id IS NOT NULL;
CREATE INDEX merchants_vouched ON merchants (id) WHERE is_official = 1 OR is_partner = 1;
CREATE INDEX merchants_by_look ON merchants (name_look, named_with);
CREATE INDEX merchants_by_word ON merchants (name_word, named_with) WHERE name_word IS NOT NULL;
CREATE INDEX merchants_like ON merchants (name_like) WHERE name_like IS NOT NULL;

-- One row an endpoint, for discovery, the catalog and the console alike. A number never returns.
CREATE TABLE endpoints (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  merchant_id TEXT COLLATE "C" NOT NULL REFERENCES merchants (id),
  position BIGINT NOT NULL,
  url TEXT COLLATE "C" NOT NULL,
  -- The registered domain of the URL: listings that share one may be of one seller.
  site TEXT COLLATE "C" NOT NULL,
  method TEXT COLLATE "C" NOT NULL CHECK (method IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP')),
  -- Empty for what is no tool.
  tool_name TEXT COLLATE "C" NOT NULL,
  transport TEXT,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  pricing TEXT NOT NULL CHECK (pricing IN ('fixed', 'metered')),
  price TEXT NOT NULL,
  asset TEXT NOT NULL,
  symbol TEXT NOT NULL,
  tags TEXT NOT NULL,
  example TEXT NOT NULL,
  input_schema TEXT,
  output TEXT,
  extras TEXT NOT NULL,
  is_hosted BIGINT NOT NULL,
  accepts TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('live', 'unverified', 'failing')),
  probe TEXT,
  failures BIGINT NOT NULL,
  next_probe_at BIGINT,
  -- The figures of the paid checks: JSON, or NULL before the first.
  delivery TEXT,
  last_updated BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  UNIQUE (merchant_id, url, method, tool_name),
  CHECK ((method = 'MCP') = (tool_name <> ''))
);

CREATE INDEX endpoints_url ON endpoints (url, method, tool_name);
CREATE INDEX endpoints_site ON endpoints (site, merchant_id);
CREATE INDEX endpoints_due ON endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;

-- Every accepted signed message, for anybody to verify again; a nonce serves an owner once.
CREATE TABLE listing_writes (
  merchant_id TEXT COLLATE "C" NOT NULL,
  revision BIGINT NOT NULL,
  owner TEXT COLLATE "C" NOT NULL,
  nonce TEXT COLLATE "C" NOT NULL,
  action TEXT NOT NULL,
  message TEXT NOT NULL,
  body TEXT NOT NULL,
  signature TEXT NOT NULL,
  accepted_at BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, revision),
  UNIQUE (owner, nonce)
);

-- What changed, in the order of the commits: how the index of every process follows.
CREATE TABLE catalog_changes (
  sequence BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  merchant_id TEXT COLLATE "C" NOT NULL,
  changed_at BIGINT NOT NULL
);

-- Each merchant as the list of all merchants shows it, made with the change of this number: JSON without the figures of
-- payments, or NULL where it is not shown. With `is_last` it comes after all others, because its payout address is not
-- proven.
CREATE TABLE published_merchants (
  merchant_id TEXT COLLATE "C" PRIMARY KEY REFERENCES merchants (id),
  sequence BIGINT NOT NULL,
  is_last BIGINT NOT NULL,
  -- The version of the code that made it.
  shape BIGINT NOT NULL,
  json TEXT
);

CREATE INDEX published_merchants_order ON published_merchants (is_last, merchant_id) WHERE json IS NOT NULL;
CREATE INDEX published_merchants_shape ON published_merchants (shape, merchant_id);

-- Probes of each endpoint by hour (its first Unix second) and result, for 90 days.
CREATE TABLE probe_hours (
  endpoint_id BIGINT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  hour BIGINT NOT NULL,
  verdict TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  ms BIGINT NOT NULL,
  PRIMARY KEY (endpoint_id, hour, verdict)
);

-- Prices of each endpoint whenever they changed: `listed` by its owner, or `asked` by its own 402.
CREATE TABLE endpoint_prices (
  endpoint_id BIGINT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  source TEXT COLLATE "C" NOT NULL CHECK (source IN ('listed', 'asked')),
  at BIGINT NOT NULL,
  amount TEXT COLLATE "C" NOT NULL,
  symbol TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (endpoint_id, source, at)
);

-- Paid checks: what this service bought from listed endpoints. A row is `paying` from before the payment is signed until it
-- is known whether it settled; `skipped` is an attempt that says nothing about the endpoint. They outlive the endpoint,
-- because they are spent money. A day's payments and the last check of a URL are found by their times.
CREATE TABLE paid_checks (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  endpoint_id BIGINT NOT NULL,
  merchant_id TEXT COLLATE "C" NOT NULL,
  network TEXT NOT NULL,
  url TEXT COLLATE "C" NOT NULL,
  method TEXT NOT NULL,
  -- Empty for what is no tool.
  tool_name TEXT COLLATE "C" NOT NULL,
  -- Why it was bought from, the registered domain of the URL, and the block of the address that answered.
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('own', 'asked', 'oldest', 'first', 'lot')),
  site TEXT COLLATE "C" NOT NULL,
  block TEXT COLLATE "C" NOT NULL,
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  -- What was signed: 0 and NULL where nothing was.
  amount BIGINT NOT NULL,
  payer TEXT,
  nonce TEXT,
  valid_before BIGINT,
  after_block BIGINT,
  started_at BIGINT NOT NULL,
  state TEXT COLLATE "C" NOT NULL CHECK (state IN ('paying', 'closed', 'skipped')),
  -- NULL while it is not known.
  reason TEXT,
  ms BIGINT,
  bytes BIGINT,
  sha256 TEXT,
  tx TEXT,
  closed_at BIGINT,
  checker TEXT,
  signature TEXT
);

CREATE INDEX paid_checks_of_endpoint ON paid_checks (endpoint_id, id);
CREATE INDEX paid_checks_of_url ON paid_checks (url, method, tool_name, started_at);
CREATE INDEX paid_checks_by_time ON paid_checks (started_at);
CREATE INDEX paid_checks_of_site ON paid_checks (site, started_at);
CREATE INDEX paid_checks_open ON paid_checks (id) WHERE state = 'paying';

-- Paid checks that owners asked for by signed message, each until it is done.
CREATE TABLE check_requests (
  owner TEXT COLLATE "C" NOT NULL,
  nonce TEXT COLLATE "C" NOT NULL,
  merchant_id TEXT COLLATE "C" NOT NULL,
  endpoint_id BIGINT NOT NULL,
  asked_at BIGINT NOT NULL,
  is_open BIGINT NOT NULL,
  PRIMARY KEY (owner, nonce)
);

CREATE INDEX check_requests_of_merchant ON check_requests (merchant_id, asked_at);
CREATE INDEX check_requests_open ON check_requests (endpoint_id) WHERE is_open = 1;

-- Activity ------------------------------------------------------------------------------------------------------------

-- One row an answer of verify or settle; kept for a while, then only the sums below remain.
CREATE TABLE activity (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('verify', 'settle')),
  network TEXT NOT NULL,
  merchant_id TEXT COLLATE "C",
  endpoint_id BIGINT,
  resource TEXT,
  tool_name TEXT,
  pay_to TEXT NOT NULL,
  payer TEXT NOT NULL,
  -- 32 bytes of hex. A call that is paid through a channel has none.
  nonce TEXT,
  asset TEXT NOT NULL,
  amount TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  "transaction" TEXT,
  settlement_id TEXT,
  latency_ms BIGINT NOT NULL,
  gas_cost TEXT,
  is_self BIGINT NOT NULL
);

CREATE INDEX activity_of_merchant ON activity (merchant_id, id);
-- A payment counts once, as a sale or as a refund, however often its success is answered.
CREATE UNIQUE INDEX activity_settled ON activity (settlement_id) WHERE state IN ('settled', 'refunded');
-- What the chain shows of payments, for everybody: all of them, those of a buyer, and those to an address, newest first.
CREATE INDEX activity_on_chain ON activity (state, at, id)
  WHERE state IN ('settled', 'refunded') AND "transaction" IS NOT NULL;
CREATE INDEX activity_of_payer ON activity (payer, state, at, id)
  WHERE state IN ('settled', 'refunded') AND "transaction" IS NOT NULL;
CREATE INDEX activity_of_pay_to ON activity (pay_to, state, at, id)
  WHERE state IN ('settled', 'refunded') AND "transaction" IS NOT NULL;

-- Sums by hour (its first Unix second). Merchant '' is everybody, endpoint 0 is none. Gas is in 10^-12 dollars, so that sums
-- stay within 64 bits.
CREATE TABLE activity_sums (
  merchant_id TEXT COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  endpoint_id BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  is_self BIGINT NOT NULL,
  count BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  gas BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, kind, state, reason, is_self)
);

-- How long answers took: count of those at or below `up_to_ms` and above the step before it.
CREATE TABLE activity_latencies (
  merchant_id TEXT COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  endpoint_id BIGINT NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  up_to_ms BIGINT NOT NULL,
  count BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, kind, up_to_ms)
);

-- Payers: settled payments less refunds, without payments of an owner to themselves.
CREATE TABLE activity_payers (
  merchant_id TEXT COLLATE "C" NOT NULL,
  hour BIGINT NOT NULL,
  endpoint_id BIGINT NOT NULL,
  payer TEXT COLLATE "C" NOT NULL,
  count BIGINT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, payer)
);

-- Finds whom else a payer paid.
CREATE INDEX activity_payers_of_payer ON activity_payers (payer, merchant_id);

-- Figures of the payments for each endpoint, as discovery publishes them: JSON that is refreshed from the sums. Readers
-- follow the rising `version`. At `due_at` (Unix seconds) the figures change without a payment, because hours pass.
CREATE TABLE endpoint_usage (
  endpoint_id BIGINT PRIMARY KEY REFERENCES endpoints (id) ON DELETE CASCADE,
  version BIGINT NOT NULL UNIQUE,
  figures TEXT COLLATE "C" NOT NULL,
  due_at BIGINT
);

CREATE INDEX endpoint_usage_due ON endpoint_usage (due_at) WHERE due_at IS NOT NULL;

-- The same figures for each merchant as a whole, with payments that are for no endpoint.
CREATE TABLE merchant_usage (
  merchant_id TEXT COLLATE "C" PRIMARY KEY REFERENCES merchants (id) ON DELETE CASCADE,
  version BIGINT NOT NULL UNIQUE,
  figures TEXT COLLATE "C" NOT NULL,
  due_at BIGINT
);

CREATE INDEX merchant_usage_due ON merchant_usage (due_at) WHERE due_at IS NOT NULL;

-- One row. `seen` is the last row of activity that a refresh has looked at, `seen_before` that of the refresh before it.
-- `version` counts up.
CREATE TABLE usage_refresh (
  id BIGINT PRIMARY KEY CHECK (id = 1),
  seen BIGINT NOT NULL,
  seen_before BIGINT NOT NULL,
  version BIGINT NOT NULL
);

-- Events and webhooks -------------------------------------------------------------------------------------------------

-- News that is in no feed yet: decided payments by the id of their job, and changes of endpoints with their facts as JSON.
-- A decision queues itself in the commit that makes it, so that no crash separates the two. News of a failed payment say what
-- was to be paid for.
CREATE TABLE event_queue (
  sequence BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  type TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  facts TEXT,
  resource TEXT,
  at BIGINT NOT NULL
);

CREATE FUNCTION queue_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO event_queue (type, subject, resource, at)
  VALUES (CASE NEW.state WHEN 'confirmed' THEN 'payment.settled' ELSE 'payment.failed' END, NEW.id,
    CASE NEW.state WHEN 'failed' THEN OLD.resource END, NEW.updated_at);
  RETURN NULL;
END $$;

CREATE TRIGGER jobs_decided AFTER UPDATE OF state ON jobs FOR EACH ROW
WHEN (NEW.state IN ('confirmed', 'failed') AND OLD.state <> NEW.state AND NEW.kind IN ('exact', 'permit2'))
EXECUTE FUNCTION queue_decision();

-- The feed of each merchant, in the order of its numbers. The key makes an event one, however often it is taken in. The
-- operator's own feed has no merchant ('').
CREATE TABLE events (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  merchant_id TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL UNIQUE,
  at BIGINT NOT NULL,
  data TEXT NOT NULL
);

CREATE INDEX events_of_merchant ON events (merchant_id, id);

-- Webhooks of merchants, and the operator's own under the id 'operator'. Nothing is sent before the receiver answered a
-- challenge (`confirmed_at`). `cursor` is the last event that was delivered or passed over. `next_at` is the time of the
-- next delivery, and NULL while there is nothing to deliver. A worker delivers until the end of its lease; places and pace
-- go by owner and host. The secret follows from the seed and, if `key_id` names one, from a key in the settings.
CREATE TABLE hooks (
  id TEXT COLLATE "C" PRIMARY KEY,
  merchant_id TEXT COLLATE "C" NOT NULL,
  owner TEXT NOT NULL,
  url TEXT NOT NULL,
  host TEXT NOT NULL,
  types TEXT NOT NULL,
  seed TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  confirmed_at BIGINT,
  cursor BIGINT NOT NULL,
  next_at BIGINT,
  delivered_at BIGINT,
  failures BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT,
  last_error TEXT,
  parked TEXT,
  lost BIGINT NOT NULL DEFAULT 0,
  -- The last calls, newest first: a JSON list of bounded length.
  calls TEXT NOT NULL DEFAULT '[]',
  worker TEXT,
  lease_until BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX hooks_of_merchant ON hooks (merchant_id);
CREATE INDEX hooks_due ON hooks (next_at) WHERE next_at IS NOT NULL;

-- Signed messages about webhooks that were accepted, until their deadlines pass. They are not in the history of listings,
-- which is public, because a URL may hold a password.
CREATE TABLE hook_nonces (
  owner TEXT COLLATE "C" NOT NULL,
  nonce TEXT COLLATE "C" NOT NULL,
  deadline BIGINT NOT NULL,
  PRIMARY KEY (owner, nonce)
);

-- The last replay of each owner, for some minutes.
CREATE TABLE hook_replays (
  owner TEXT COLLATE "C" PRIMARY KEY,
  at BIGINT NOT NULL
);

-- Hosted endpoints ----------------------------------------------------------------------------------------------------

-- What hosted endpoints keep: channels with their vouchers, refunds. Each body is JSON of whoever wrote it.
CREATE TABLE hosted_records (
  kind TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
);

-- The way from the facilitator to the directory ------------------------------------------------------------------------

-- What the facilitator hands over and the directory has not taken yet: answers for figures, and resources of settled
-- payments. Bodies are JSON, without the query of any paid URL.
CREATE TABLE outbox (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('answers', 'offer')),
  body TEXT NOT NULL
);
CREATE INDEX outbox_kind ON outbox (kind, id);

-- What the catalog made of the resources that were offered to it, by their keys, for some minutes.
CREATE TABLE offer_outcomes (
  key TEXT COLLATE "C" PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  status TEXT NOT NULL,
  at BIGINT NOT NULL
);
CREATE INDEX offer_outcomes_at ON offer_outcomes (at);
