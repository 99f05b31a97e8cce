-- What a confirmed payment's attestation has beside its row: the key's address, the time and the signature, as JSON.
ALTER TABLE jobs ADD COLUMN attestation TEXT;
