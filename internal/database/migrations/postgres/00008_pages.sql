-- +goose Up

-- The orders of the lists that are read in pages: each page begins after the key of the entry before it.
CREATE INDEX tasks_order ON tasks (intent_no, created_at);
CREATE INDEX tasks_status_order ON tasks (intent_no, status, created_at);
CREATE INDEX assignments_order ON assignments (intent_no, assigned_at, agent_id);
CREATE INDEX access_entries_order ON access_entries (intent_no, granted_at, id);
CREATE INDEX coordinators_order ON coordinators (intent_no, granted_at, id);
CREATE INDEX agents_status_order ON agents (status, agent_id);
CREATE INDEX channels_open ON channels (intent_no, channel_no) WHERE closed_at IS NULL;
DROP INDEX events_trace;
CREATE INDEX events_trace ON events (trace_id, created_at, intent_no, sequence) WHERE trace_id IS NOT NULL;

-- +goose Down
DROP INDEX events_trace;
CREATE INDEX events_trace ON events (trace_id) WHERE trace_id IS NOT NULL;
DROP INDEX channels_open;
DROP INDEX agents_status_order;
DROP INDEX coordinators_order;
DROP INDEX access_entries_order;
DROP INDEX assignments_order;
DROP INDEX tasks_status_order;
DROP INDEX tasks_order;
