CREATE INDEX deliveries_by_event ON deliveries (event_id);
CREATE INDEX events_by_account ON events (account_id, id);
