-- Sightings are forgotten by a scan in slices; keeping their ends in order cost every verify a page of its own.
DROP INDEX sightings_expiry;
