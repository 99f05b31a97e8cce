-- The token of a price, in lower case, and its symbol. All older prices are in dollars, in the token of their merchant.
ALTER TABLE endpoints ADD COLUMN asset TEXT NOT NULL DEFAULT '0x3600000000000000000000000000000000000000';
ALTER TABLE endpoints ADD COLUMN symbol TEXT NOT NULL DEFAULT 'USDC';

UPDATE endpoints SET asset = (SELECT asset FROM merchants WHERE id = merchant_id)
WHERE merchant_id IN (SELECT id FROM merchants WHERE asset <> '0x3600000000000000000000000000000000000000');
