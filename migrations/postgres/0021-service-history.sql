-- Minutes of each hour (its first Unix second) in which the service was ready, degraded or down. A minute that is in none
-- of the three was not noted. `first_at` and `last_at` are the first and the last minute that were.
CREATE TABLE service_hours (
  hour BIGINT PRIMARY KEY,
  ready BIGINT NOT NULL,
  degraded BIGINT NOT NULL,
  down BIGINT NOT NULL,
  first_at BIGINT NOT NULL,
  last_at BIGINT NOT NULL
);

-- Times in which the service was not ready, each from a minute to a minute; `silent` is one in which nothing was noted.
CREATE TABLE service_incidents (
  started_at BIGINT PRIMARY KEY,
  ended_at BIGINT,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('degraded', 'down', 'silent')),
  reason TEXT COLLATE "C" NOT NULL
);
