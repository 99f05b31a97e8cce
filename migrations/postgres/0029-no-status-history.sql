-- Prometheus remembers whether payments could settle; the status page shows now and the last day.
DROP TABLE service_hours;
DROP TABLE service_incidents;
