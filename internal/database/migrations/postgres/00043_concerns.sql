-- +goose NO TRANSACTION
-- +goose Up

-- What somebody may have to look after is found by these (package concerns). Only the first one is written when messages are sent.
-- Indexes are made without keeping anybody from the tables. PostgreSQL leaves one behind that it could not finish.
SET lock_timeout = '3min';

-- Finds for the operator the open requests that wait for longer than an ask does by default, in the order in which they were sent. An ask of
-- 30 seconds or less is not in it.
DROP INDEX CONCURRENTLY IF EXISTS open_requests_age;
CREATE INDEX CONCURRENTLY open_requests_age ON open_requests (created_at, intent_no, position)
    WHERE expires_at IS NULL OR expires_at > created_at + 30000000;

-- Finds requests that ended without an answer by the end of their time. Requests that are open or answered are in neither of the two.
DROP INDEX CONCURRENTLY IF EXISTS messages_timed_out;
CREATE INDEX CONCURRENTLY messages_timed_out ON messages (intent_no, expires_at)
    WHERE message_type = 'request' AND ended_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS messages_timed_out_age;
CREATE INDEX CONCURRENTLY messages_timed_out_age ON messages (expires_at)
    WHERE message_type = 'request' AND ended_at IS NOT NULL;

-- Finds for the operator the open obligations of which it was told.
DROP INDEX CONCURRENTLY IF EXISTS obligations_told;
CREATE INDEX CONCURRENTLY obligations_told ON obligations (opened_at, intent_no, position)
    WHERE discharged_at IS NULL AND step >= 5;

-- Finds the subscriptions to an intent, and those whose last post failed.
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_intent;
CREATE INDEX CONCURRENTLY subscriptions_intent ON subscriptions (intent_no)
    WHERE intent_no IS NOT NULL AND deleted_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_failing;
CREATE INDEX CONCURRENTLY subscriptions_failing ON subscriptions (subscription_no)
    WHERE last_error IS NOT NULL AND ended_at IS NULL AND deleted_at IS NULL;

-- Finds agents that are presumed dead, in the order in which they fell silent, and the tasks that an agent has.
DROP INDEX CONCURRENTLY IF EXISTS agents_lost;
CREATE INDEX CONCURRENTLY agents_lost ON agents (presumed_dead_at, agent_id) WHERE status = 'dead' AND presumed_dead_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS tasks_assigned;
CREATE INDEX CONCURRENTLY tasks_assigned ON tasks (assigned_agent, id)
    WHERE assigned_agent IS NOT NULL AND completed_at IS NULL;

RESET lock_timeout;

-- +goose Down
DROP INDEX tasks_assigned;
DROP INDEX agents_lost;
DROP INDEX subscriptions_failing;
DROP INDEX subscriptions_intent;
DROP INDEX obligations_told;
DROP INDEX messages_timed_out_age;
DROP INDEX messages_timed_out;
DROP INDEX open_requests_age;
