-- Prometheus remembers whether payments could settle; the status page shows now and the last day.
DROP TABLE service_hours;
DROP TABLE service_incidents;
-- The nonce of the payment that an answer is about: with the payer it leads to the page of the payment.
ALTER TABLE activity ADD COLUMN nonce TEXT;
-- The last calls of a webhook, newest first: a JSON list of bounded length.
ALTER TABLE hooks ADD COLUMN calls TEXT NOT NULL DEFAULT '[]';
