-- +goose NO TRANSACTION
-- +goose Up

-- Indexes are made without keeping anybody from the tables. PostgreSQL leaves one behind that it could not finish.
SET lock_timeout = '3min';

-- What a list of intents begins with: those that everybody may read, and those of a status, in the order in which they were made.
DROP INDEX CONCURRENTLY IF EXISTS intents_without_list;
CREATE INDEX CONCURRENTLY intents_without_list ON intents (intent_no) WHERE default_policy IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS intents_open;
CREATE INDEX CONCURRENTLY intents_open ON intents (intent_no) WHERE default_policy = 'open';
DROP INDEX CONCURRENTLY IF EXISTS intent_heads_status;
CREATE INDEX CONCURRENTLY intent_heads_status ON intent_heads (status, intent_no);

-- The intents of an agent, now in that order.
DROP INDEX CONCURRENTLY IF EXISTS intents_creator;
CREATE INDEX CONCURRENTLY intents_creator ON intents (created_by, intent_no);
DROP INDEX CONCURRENTLY IF EXISTS assignments_agent;
CREATE INDEX CONCURRENTLY assignments_agent ON assignments (agent_id, intent_no);
DROP INDEX CONCURRENTLY IF EXISTS access_entries_principal;
CREATE INDEX CONCURRENTLY access_entries_principal ON access_entries (principal_id, intent_no);
DROP INDEX CONCURRENTLY IF EXISTS coordinators_agent;
CREATE INDEX CONCURRENTLY coordinators_agent ON coordinators (agent_id, intent_no);

RESET lock_timeout;

-- +goose Down
DROP INDEX coordinators_agent;
CREATE INDEX coordinators_agent ON coordinators (agent_id);
DROP INDEX access_entries_principal;
CREATE INDEX access_entries_principal ON access_entries (principal_id);
DROP INDEX assignments_agent;
CREATE INDEX assignments_agent ON assignments (agent_id);
DROP INDEX intents_creator;
CREATE INDEX intents_creator ON intents (created_by);
DROP INDEX intent_heads_status;
DROP INDEX intents_open;
DROP INDEX intents_without_list;
