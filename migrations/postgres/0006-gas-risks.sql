-- What a signed transaction may burn at worst, and whose budget of gas is reserved for it until its slot closes. The bearer
-- is an account, or the name of a sum over all accounts. A strict bearer never exceeds its budget; the others may have one
-- transaction under way whatever it may burn.
CREATE TABLE gas_risks (
  hash TEXT COLLATE "C" NOT NULL REFERENCES attempts (hash),
  bearer TEXT COLLATE "C" NOT NULL,
  amount NUMERIC(78) NOT NULL,
  is_strict BIGINT NOT NULL,
  PRIMARY KEY (hash, bearer)
);

CREATE INDEX gas_risks_bearer ON gas_risks (bearer);
