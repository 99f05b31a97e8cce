-- Gas by day; payer '' is the whole day's total. Amounts are 18-decimal integers in text: they outgrow 64 bits.
CREATE TABLE gas_spending (
  network TEXT NOT NULL,
  day TEXT NOT NULL,
  payer TEXT NOT NULL,
  amount TEXT NOT NULL,
  PRIMARY KEY (network, day, payer)
) STRICT, WITHOUT ROWID;

-- Whom the operator refuses, as payer or as recipient.
CREATE TABLE blocks (
  role TEXT NOT NULL CHECK (role IN ('payer', 'payTo')),
  address TEXT NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (role, address)
) STRICT, WITHOUT ROWID;
