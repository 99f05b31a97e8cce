-- The token of an answer, in lower case; NULL in older rows, whose token was the only one.
ALTER TABLE activity ADD COLUMN asset TEXT;
