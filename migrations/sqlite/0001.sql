-- The schema of SQLite. The one of PostgreSQL has the same tables, columns and meanings, so that rows move over one to one.
-- Amounts are atomic units, gas is in 18-decimal units, both as decimal text; times are Unix milliseconds or seconds, as the
-- stores say.

-- Settling ------------------------------------------------------------------------------------------------------------

-- Jobs: what is to be brought on chain exactly once. The key is what the chain itself lets happen only once. An old job
-- has no calldata ('0x').
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  network TEXT NOT NULL,
  key TEXT NOT NULL,
  digest TEXT NOT NULL,
  round INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('queued', 'submitted', 'confirmed', 'failed')),
  "to" TEXT NOT NULL,
  calldata TEXT NOT NULL,
  details TEXT NOT NULL,
  -- What was paid for. A job that fails loses it: strangers can make such jobs at no cost.
  resource TEXT,
  seen_block INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  "transaction" TEXT,
  -- The place in its block of the transfer that backs a confirmed job.
  transfer_log INTEGER,
  block_number INTEGER,
  -- The block after its end in which a failed job was found unused or used.
  unused_block INTEGER,
  used_block INTEGER,
  -- When a failed job may be looked at once more, and when one is over that was found unused. Other jobs have neither, so
  -- that no index of theirs changes while a payment settles.
  unread_from INTEGER GENERATED ALWAYS AS (
    CASE WHEN state = 'failed' AND unused_block IS NULL AND used_block IS NULL THEN expires_at END) VIRTUAL,
  unused_from INTEGER GENERATED ALWAYS AS (
    CASE WHEN state = 'failed' AND unused_block IS NOT NULL THEN expires_at END) VIRTUAL,
  gas_cost TEXT,
  reason TEXT,
  message TEXT,
  -- The key's address, the time and the signature of the attestation, as JSON.
  attestation TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  delivery_token TEXT,
  delivery_until INTEGER,
  delivered_at INTEGER,
  delivered_key TEXT,
  UNIQUE (kind, network, key)
) STRICT;

CREATE INDEX jobs_open ON jobs (network) WHERE state IN ('queued', 'submitted');
-- One transfer backs one payment.
CREATE UNIQUE INDEX jobs_settled ON jobs ("transaction", transfer_log, network) WHERE state = 'confirmed';
-- Failed jobs that the chain is asked about once their time is over, and those that can go afterwards.
CREATE INDEX jobs_unread ON jobs (unread_from, id) WHERE unread_from IS NOT NULL;
CREATE INDEX jobs_unused ON jobs (unused_from) WHERE unused_from IS NOT NULL;
CREATE INDEX jobs_whole ON jobs (created_at) WHERE calldata <> '0x';

-- Attempts: signed transactions, kept before they are sent. A slot (relayer, relayer_nonce) may hold several. An old one
-- has no bytes ('0x').
CREATE TABLE attempts (
  hash TEXT PRIMARY KEY,
  network TEXT NOT NULL,
  relayer TEXT NOT NULL,
  relayer_nonce INTEGER NOT NULL,
  raw_transaction TEXT NOT NULL,
  gas_limit TEXT NOT NULL,
  max_fee_per_gas TEXT NOT NULL,
  max_priority_fee_per_gas TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  is_open INTEGER NOT NULL DEFAULT 1
) STRICT;

CREATE INDEX attempts_slot ON attempts (network, relayer, relayer_nonce) WHERE is_open = 1;
CREATE INDEX attempts_whole ON attempts (created_at) WHERE raw_transaction <> '0x';

CREATE TABLE attempt_jobs (
  hash TEXT NOT NULL REFERENCES attempts (hash),
  position INTEGER NOT NULL,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (hash, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_jobs_job ON attempt_jobs (job_id);

-- The next nonce that each relayer signs; the chain's own count is its floor.
CREATE TABLE lanes (
  network TEXT NOT NULL,
  relayer TEXT NOT NULL,
  next_nonce INTEGER NOT NULL,
  PRIMARY KEY (network, relayer)
) STRICT, WITHOUT ROWID;

-- A payment has few Idempotency-Keys, and old ones are forgotten: both are found without a look at the rest.
CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_job ON idempotency_keys (job_id);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The books of gas by day. `payer` is an account, '' for the total of the day, or another name of
-- src/facilitator/journal/budgets.ts.
CREATE TABLE gas_spending (
  network TEXT NOT NULL,
  day TEXT NOT NULL,
  payer TEXT NOT NULL,
  amount TEXT NOT NULL,
  PRIMARY KEY (network, day, payer)
) STRICT, WITHOUT ROWID;

-- Who paid whom more than the gas of it, and the first and the last day of that: the standing of recipients comes from it.
CREATE TABLE customers (
  network TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  payer TEXT NOT NULL,
  day TEXT NOT NULL,
  last_day TEXT NOT NULL,
  PRIMARY KEY (network, pay_to, payer)
) STRICT, WITHOUT ROWID;

CREATE INDEX customers_payer ON customers (network, payer);
CREATE INDEX customers_age ON customers (network, last_day);

-- What a signed transaction may burn at worst is reserved from budgets until its slot closes. A budget is a name of the
-- books: an account, a caller, or everybody.
CREATE TABLE gas_risks (
  hash TEXT NOT NULL REFERENCES attempts (hash),
  budget TEXT NOT NULL,
  amount TEXT NOT NULL,
  PRIMARY KEY (hash, budget)
) STRICT, WITHOUT ROWID;

CREATE INDEX gas_risks_budget ON gas_risks (budget);

-- The operator --------------------------------------------------------------------------------------------------------

-- Payers and recipients that the operator refuses.
CREATE TABLE blocks (
  role TEXT NOT NULL CHECK (role IN ('payer', 'payTo')),
  address TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (role, address)
) STRICT, WITHOUT ROWID;

-- The decisions of operators, in the order they were made. Rows are added, never changed and never removed.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT;

CREATE TRIGGER audit_is_not_updated BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;

-- Listings ------------------------------------------------------------------------------------------------------------

-- Sellers. A deleted merchant keeps its row: its id stays with its owner, and its revisions go on.
CREATE TABLE merchants (
  id TEXT PRIMARY KEY,
  owner TEXT,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  revision INTEGER NOT NULL,
  is_official INTEGER NOT NULL,
  is_partner INTEGER NOT NULL,
  hidden_reason TEXT,
  agent_id TEXT,
  identity TEXT,
  offered_to TEXT,
  offered_until INTEGER,
  -- The owner that the key which is paid confirmed; it counts while the listing still has both.
  confirmed_owner TEXT,
  confirmed_pay_to TEXT,
  -- What the name looks like, and the number of the change with which the merchant took it.
  name_look TEXT NOT NULL,
  -- The same where no older name of another owner has it within: then it is no common word, and is protected in longer names.
  name_word TEXT,
  named_with INTEGER NOT NULL,
  -- The merchant of another owner whose name this one shows, or its own id for words that only the operator's merchants may
  -- show; and the field that shows it.
  name_like TEXT,
  name_like_at TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;

CREATE INDEX merchants_pay_to ON merchants (pay_to);
CREATE INDEX merchants_owner ON merchants (owner) WHERE deleted_at IS NULL;
CREATE INDEX merchants_offered ON merchants (offered_to) WHERE offered_to IS NOT NULL;
CREATE INDEX merchants_agent ON merchants (id) WHERE agent_id IS NOT NULL;
CREATE INDEX merchants_vouched ON merchants (id) WHERE is_official = 1 OR is_partner = 1;
CREATE INDEX merchants_by_look ON merchants (name_look, named_with);
CREATE INDEX merchants_by_word ON merchants (name_word, named_with) WHERE name_word IS NOT NULL;
CREATE INDEX merchants_like ON merchants (name_like) WHERE name_like IS NOT NULL;

-- One row an endpoint, for discovery, the catalog and the console alike. AUTOINCREMENT: a number never returns.
CREATE TABLE endpoints (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL REFERENCES merchants (id),
  position INTEGER NOT NULL,
  url TEXT NOT NULL,
  -- The registered domain of the URL: listings that share one may be of one seller.
  site TEXT NOT NULL,
  method TEXT NOT NULL CHECK (method IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP')),
  -- Empty for what is no tool.
  tool_name TEXT NOT NULL,
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
  is_hosted INTEGER NOT NULL,
  accepts TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('live', 'unverified', 'failing')),
  probe TEXT,
  failures INTEGER NOT NULL,
  next_probe_at INTEGER,
  -- The figures of the paid checks: JSON, or NULL before the first.
  delivery TEXT,
  last_updated INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (merchant_id, url, method, tool_name),
  CHECK ((method = 'MCP') = (tool_name <> ''))
) STRICT;

CREATE INDEX endpoints_url ON endpoints (url, method, tool_name);
CREATE INDEX endpoints_site ON endpoints (site, merchant_id);
CREATE INDEX endpoints_due ON endpoints (next_probe_at) WHERE next_probe_at IS NOT NULL;

-- Every accepted signed message, for anybody to verify again; a nonce serves an owner once.
CREATE TABLE listing_writes (
  merchant_id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  owner TEXT NOT NULL,
  nonce TEXT NOT NULL,
  action TEXT NOT NULL,
  message TEXT NOT NULL,
  body TEXT NOT NULL,
  signature TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, revision),
  UNIQUE (owner, nonce)
) STRICT, WITHOUT ROWID;

-- What changed, in the order of the commits: how the index of every process follows.
CREATE TABLE catalog_changes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;

-- Each merchant as the list of all merchants shows it, made with the change of this number: JSON without the figures of
-- payments, or NULL where it is not shown. With `is_last` it comes after all others, because its payout address is not
-- proven.
CREATE TABLE published_merchants (
  merchant_id TEXT PRIMARY KEY REFERENCES merchants (id),
  sequence INTEGER NOT NULL,
  is_last INTEGER NOT NULL,
  -- The version of the code that made it.
  shape INTEGER NOT NULL,
  json TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX published_merchants_order ON published_merchants (is_last, merchant_id) WHERE json IS NOT NULL;
CREATE INDEX published_merchants_shape ON published_merchants (shape, merchant_id);

-- Probes of each endpoint by hour (its first Unix second) and result, for 90 days.
CREATE TABLE probe_hours (
  endpoint_id INTEGER NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  hour INTEGER NOT NULL,
  verdict TEXT NOT NULL,
  count INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  PRIMARY KEY (endpoint_id, hour, verdict)
) STRICT, WITHOUT ROWID;

-- Prices of each endpoint whenever they changed: `listed` by its owner, or `asked` by its own 402.
CREATE TABLE endpoint_prices (
  endpoint_id INTEGER NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
  source TEXT NOT NULL CHECK (source IN ('listed', 'asked')),
  at INTEGER NOT NULL,
  amount TEXT NOT NULL,
  symbol TEXT NOT NULL,
  PRIMARY KEY (endpoint_id, source, at)
) STRICT, WITHOUT ROWID;

-- Paid checks: what this service bought from listed endpoints. A row is `paying` from before the payment is signed until it
-- is known whether it settled; `skipped` is an attempt that says nothing about the endpoint. They outlive the endpoint,
-- because they are spent money. A day's payments and the last check of a URL are found by their times.
CREATE TABLE paid_checks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  endpoint_id INTEGER NOT NULL,
  merchant_id TEXT NOT NULL,
  network TEXT NOT NULL,
  url TEXT NOT NULL,
  method TEXT NOT NULL,
  -- Empty for what is no tool.
  tool_name TEXT NOT NULL,
  -- Why it was bought from, the registered domain of the URL, and the block of the address that answered.
  kind TEXT NOT NULL CHECK (kind IN ('own', 'asked', 'oldest', 'first', 'lot')),
  site TEXT NOT NULL,
  block TEXT NOT NULL,
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  -- What was signed: 0 and NULL where nothing was.
  amount INTEGER NOT NULL,
  payer TEXT,
  nonce TEXT,
  valid_before INTEGER,
  after_block INTEGER,
  started_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('paying', 'closed', 'skipped')),
  -- NULL while it is not known.
  reason TEXT,
  ms INTEGER,
  bytes INTEGER,
  sha256 TEXT,
  tx TEXT,
  closed_at INTEGER,
  checker TEXT,
  signature TEXT
) STRICT;

CREATE INDEX paid_checks_of_endpoint ON paid_checks (endpoint_id, id);
CREATE INDEX paid_checks_of_url ON paid_checks (url, method, tool_name, started_at);
CREATE INDEX paid_checks_by_time ON paid_checks (started_at);
CREATE INDEX paid_checks_of_site ON paid_checks (site, started_at);
CREATE INDEX paid_checks_open ON paid_checks (id) WHERE state = 'paying';

-- Paid checks that owners asked for by signed message, each until it is done.
CREATE TABLE check_requests (
  owner TEXT NOT NULL,
  nonce TEXT NOT NULL,
  merchant_id TEXT NOT NULL,
  endpoint_id INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,
  is_open INTEGER NOT NULL,
  PRIMARY KEY (owner, nonce)
) STRICT, WITHOUT ROWID;

CREATE INDEX check_requests_of_merchant ON check_requests (merchant_id, asked_at);
CREATE INDEX check_requests_open ON check_requests (endpoint_id) WHERE is_open = 1;

-- Activity ------------------------------------------------------------------------------------------------------------

-- One row an answer of verify or settle; kept for a while, then only the sums below remain.
CREATE TABLE activity (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('verify', 'settle')),
  network TEXT NOT NULL,
  merchant_id TEXT,
  endpoint_id INTEGER,
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
  latency_ms INTEGER NOT NULL,
  gas_cost TEXT,
  is_self INTEGER NOT NULL
) STRICT;

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
  merchant_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  is_self INTEGER NOT NULL,
  count INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  gas INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, kind, state, reason, is_self)
) STRICT, WITHOUT ROWID;

-- How long answers took: count of those at or below `up_to_ms` and above the step before it.
CREATE TABLE activity_latencies (
  merchant_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  up_to_ms INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, kind, up_to_ms)
) STRICT, WITHOUT ROWID;

-- Payers: settled payments less refunds, without payments of an owner to themselves.
CREATE TABLE activity_payers (
  merchant_id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  endpoint_id INTEGER NOT NULL,
  payer TEXT NOT NULL,
  count INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (merchant_id, hour, endpoint_id, payer)
) STRICT, WITHOUT ROWID;

-- Finds whom else a payer paid.
CREATE INDEX activity_payers_of_payer ON activity_payers (payer, merchant_id);

-- Figures of the payments for each endpoint, as discovery publishes them: JSON that is refreshed from the sums. Readers
-- follow the rising `version`. At `due_at` (Unix seconds) the figures change without a payment, because hours pass.
CREATE TABLE endpoint_usage (
  endpoint_id INTEGER PRIMARY KEY REFERENCES endpoints (id) ON DELETE CASCADE,
  version INTEGER NOT NULL UNIQUE,
  figures TEXT NOT NULL,
  due_at INTEGER
) STRICT;

CREATE INDEX endpoint_usage_due ON endpoint_usage (due_at) WHERE due_at IS NOT NULL;

-- The same figures for each merchant as a whole, with payments that are for no endpoint.
CREATE TABLE merchant_usage (
  merchant_id TEXT PRIMARY KEY REFERENCES merchants (id) ON DELETE CASCADE,
  version INTEGER NOT NULL UNIQUE,
  figures TEXT NOT NULL,
  due_at INTEGER
) STRICT;

CREATE INDEX merchant_usage_due ON merchant_usage (due_at) WHERE due_at IS NOT NULL;

-- One row. `seen` is the last row of activity that a refresh has looked at, `seen_before` that of the refresh before it.
-- `version` counts up.
CREATE TABLE usage_refresh (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seen INTEGER NOT NULL,
  seen_before INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT;

-- Events and webhooks -------------------------------------------------------------------------------------------------

-- News that is in no feed yet: decided payments by the id of their job, and changes of endpoints with their facts as JSON.
-- A decision queues itself in the commit that makes it, so that no crash separates the two. News of a failed payment say what
-- was to be paid for.
CREATE TABLE event_queue (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  facts TEXT,
  resource TEXT,
  at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER jobs_decided AFTER UPDATE OF state ON jobs
WHEN NEW.state IN ('confirmed', 'failed') AND OLD.state <> NEW.state AND NEW.kind IN ('exact', 'permit2')
BEGIN
  INSERT INTO event_queue (type, subject, resource, at)
  VALUES (CASE NEW.state WHEN 'confirmed' THEN 'payment.settled' ELSE 'payment.failed' END, NEW.id,
    CASE NEW.state WHEN 'failed' THEN OLD.resource END, NEW.updated_at);
END;

-- The feed of each merchant, in the order of its numbers. The key makes an event one, however often it is taken in. The
-- operator's own feed has no merchant ('').
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL,
  type TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE INDEX events_of_merchant ON events (merchant_id, id);

-- Webhooks of merchants, and the operator's own under the id 'operator'. Nothing is sent before the receiver answered a
-- challenge (`confirmed_at`). `cursor` is the last event that was delivered or passed over. `next_at` is the time of the
-- next delivery, and NULL while there is nothing to deliver. A worker delivers until the end of its lease; places and pace
-- go by owner and host. The secret follows from the seed and, if `key_id` names one, from a key in the settings.
CREATE TABLE hooks (
  id TEXT PRIMARY KEY,
  merchant_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  url TEXT NOT NULL,
  host TEXT NOT NULL,
  types TEXT NOT NULL,
  seed TEXT NOT NULL,
  key_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  confirmed_at INTEGER,
  cursor INTEGER NOT NULL,
  next_at INTEGER,
  delivered_at INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  failing_since INTEGER,
  last_error TEXT,
  parked TEXT,
  lost INTEGER NOT NULL DEFAULT 0,
  -- The last calls, newest first: a JSON list of bounded length.
  calls TEXT NOT NULL DEFAULT '[]',
  worker TEXT,
  lease_until INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX hooks_of_merchant ON hooks (merchant_id);
CREATE INDEX hooks_due ON hooks (next_at) WHERE next_at IS NOT NULL;

-- Signed messages about webhooks that were accepted, until their deadlines pass. They are not in the history of listings,
-- which is public, because a URL may hold a password.
CREATE TABLE hook_nonces (
  owner TEXT NOT NULL,
  nonce TEXT NOT NULL,
  deadline INTEGER NOT NULL,
  PRIMARY KEY (owner, nonce)
) STRICT, WITHOUT ROWID;

-- The last replay of each owner, for some minutes.
CREATE TABLE hook_replays (
  owner TEXT PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Hosted endpoints ----------------------------------------------------------------------------------------------------

-- What hosted endpoints keep: channels with their vouchers, refunds. Each body is JSON of whoever wrote it.
CREATE TABLE hosted_records (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- The way from the facilitator to the directory ------------------------------------------------------------------------

-- What the facilitator hands over and the directory has not taken yet: answers for figures, and resources of settled
-- payments. Bodies are JSON, without the query of any paid URL.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('answers', 'offer')),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_kind ON outbox (kind, id);

-- What the catalog made of the resources that were offered to it, by their keys, for some minutes.
CREATE TABLE offer_outcomes (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  status TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX offer_outcomes_at ON offer_outcomes (at);
