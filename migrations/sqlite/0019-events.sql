-- News that is in no feed yet: decided payments by the id of their job, and changes of endpoints with their facts as JSON.
-- A decision queues itself in the commit that makes it, so that no crash separates the two.
CREATE TABLE event_queue (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  subject TEXT NOT NULL,
  facts TEXT,
  at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER jobs_decided AFTER UPDATE OF state ON jobs
WHEN NEW.state IN ('confirmed', 'failed') AND OLD.state <> NEW.state AND NEW.kind IN ('exact', 'permit2')
BEGIN
  INSERT INTO event_queue (type, subject, at)
  VALUES (CASE NEW.state WHEN 'confirmed' THEN 'payment.settled' ELSE 'payment.failed' END, NEW.id, NEW.updated_at);
END;

-- The feed of each merchant, in the order of its numbers. The key makes an event one, however often it is taken in. The
-- operator's own feed has no merchant ('').
CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  merchant_id TEXT NOT NULL,
  type TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  data TEXT NOT NULL
) STRICT;

CREATE INDEX events_of_merchant ON events (merchant_id, id);
