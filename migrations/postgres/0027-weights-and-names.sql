-- What a rating weighs: the amount that was paid, up to the price that was asked, less what came back from the recipient.
ALTER TABLE ratings ADD COLUMN weight BIGINT NOT NULL DEFAULT 0;
-- The sum of the weights; `total` is the sum of the scores, each times its weight. Ratings without weight are not counted.
ALTER TABLE rating_sums ADD COLUMN weight BIGINT NOT NULL DEFAULT 0;
UPDATE ratings SET weight = least(CAST(amount AS NUMERIC), 10000000000);
DELETE FROM rating_sums;
INSERT INTO rating_sums (network, pay_to, url, tool_name, count, total, payers, most, weight)
  SELECT network, pay_to, url, tool_name, sum(own), sum(score), count(*), max(own), sum(weight) FROM (
    SELECT network, pay_to, url, tool_name, count(*) AS own, sum(score * weight) AS score, sum(weight) AS weight
    FROM ratings WHERE hidden_reason IS NULL AND weight > 0 GROUP BY network, pay_to, url, tool_name, payer) AS payers
  GROUP BY network, pay_to, url, tool_name;
CREATE INDEX ratings_of_recipient ON ratings (network, pay_to, payer, number);

-- What a name looks like, and the number of the change with which the merchant took it.
ALTER TABLE merchants ADD COLUMN name_look TEXT NOT NULL DEFAULT '';
-- The same where no older name of another owner has it within: then it is no common word, and is protected in longer names.
ALTER TABLE merchants ADD COLUMN name_word TEXT;
ALTER TABLE merchants ADD COLUMN named_with BIGINT NOT NULL DEFAULT 0;
-- The merchant of another owner whose name this one shows, or its own id for words that only the operator's merchants may
-- show; and the field that shows it.
ALTER TABLE merchants ADD COLUMN name_like TEXT;
ALTER TABLE merchants ADD COLUMN name_like_at TEXT;
CREATE INDEX merchants_by_look ON merchants (name_look, named_with);
CREATE INDEX merchants_by_word ON merchants (name_word, named_with) WHERE name_word IS NOT NULL;
CREATE INDEX merchants_like ON merchants (name_like) WHERE name_like IS NOT NULL;
CREATE INDEX merchants_vouched ON merchants (id) WHERE is_official = 1 OR is_partner = 1;
