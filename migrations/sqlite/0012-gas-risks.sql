-- What a signed transaction may burn at worst, and whose budget of gas is reserved for it until its slot closes. Amounts are
-- 18-decimal integers in text. The bearer is an account, or the name of a sum over all accounts. A strict bearer never
-- exceeds its budget; the others may have one transaction under way whatever it may burn.
CREATE TABLE gas_risks (
  hash TEXT NOT NULL REFERENCES attempts (hash),
  bearer TEXT NOT NULL,
  amount TEXT NOT NULL,
  is_strict INTEGER NOT NULL,
  PRIMARY KEY (hash, bearer)
) STRICT, WITHOUT ROWID;

CREATE INDEX gas_risks_bearer ON gas_risks (bearer);
