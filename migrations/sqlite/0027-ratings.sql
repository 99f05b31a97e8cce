-- Ratings of endpoints by those who paid, one a payment, which its number in the journal names. They belong to what was paid
-- for and to whom, not to a listing: an owner who lists the same again has them again. `message` is what the payer signed.
CREATE TABLE ratings (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  network TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  url TEXT NOT NULL,
  -- Empty for what is no tool.
  tool_name TEXT NOT NULL,
  payer TEXT NOT NULL,
  score INTEGER NOT NULL CHECK (score BETWEEN 0 AND 100),
  amount TEXT NOT NULL,
  tx TEXT NOT NULL,
  message TEXT NOT NULL,
  signature TEXT NOT NULL,
  rated_at INTEGER NOT NULL,
  hidden_reason TEXT,
  answer TEXT,
  answered_at INTEGER
) STRICT;

CREATE INDEX ratings_of_endpoint ON ratings (network, pay_to, url, tool_name, number);
CREATE INDEX ratings_of_payer ON ratings (network, pay_to, url, tool_name, payer);

-- The sums of the ratings that are not hidden: their number, the sum of their scores, the payers, and the most ratings of
-- one payer.
CREATE TABLE rating_sums (
  network TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  url TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  count INTEGER NOT NULL,
  total INTEGER NOT NULL,
  payers INTEGER NOT NULL,
  most INTEGER NOT NULL,
  PRIMARY KEY (network, pay_to, url, tool_name)
) STRICT, WITHOUT ROWID;
