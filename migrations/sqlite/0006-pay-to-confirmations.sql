-- The owner whom the key that is paid vouched for; it counts while the listing still has both.
ALTER TABLE merchants ADD COLUMN confirmed_owner TEXT;
ALTER TABLE merchants ADD COLUMN confirmed_pay_to TEXT;

-- What was found in payments is named after the address that is paid, never after a host.
UPDATE merchants SET name = substr(pay_to, 1, 6) || '…' || substr(pay_to, -4)
WHERE owner IS NULL AND id LIKE 'payto-0x%';
