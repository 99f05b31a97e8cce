-- Minutes of each hour (its first Unix second) in which the service was ready, degraded or down. A minute that is in none
-- of the three was not noted. `first_at` and `last_at` are the first and the last minute that were.
CREATE TABLE service_hours (
  hour INTEGER PRIMARY KEY,
  ready INTEGER NOT NULL,
  degraded INTEGER NOT NULL,
  down INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT;

-- Times in which the service was not ready, each from a minute to a minute; `silent` is one in which nothing was noted.
CREATE TABLE service_incidents (
  started_at INTEGER PRIMARY KEY,
  ended_at INTEGER,
  kind TEXT NOT NULL CHECK (kind IN ('degraded', 'down', 'silent')),
  reason TEXT NOT NULL
) STRICT;
