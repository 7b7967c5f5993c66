-- +goose Up

-- Finds coordinators that were heard at a time ahead of the clock, which was set back since.
CREATE INDEX coordinators_heard ON coordinators (last_heartbeat_at) WHERE status NOT IN ('failed_over', 'completed');
