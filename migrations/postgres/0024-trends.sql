-- Paid calls by day for 30 days, for the lists of the console: JSON, kept with the other figures.
ALTER TABLE endpoint_usage ADD COLUMN trend TEXT COLLATE "C" NOT NULL DEFAULT '{"since":0,"calls":[]}';
ALTER TABLE merchant_usage ADD COLUMN trend TEXT COLLATE "C" NOT NULL DEFAULT '{"since":0,"calls":[]}';
