-- +goose NO TRANSACTION
-- +goose Up

-- Indexes on a table that was there before are made without keeping anybody from it. PostgreSQL then leaves an index behind that it
-- could not finish, so each one is removed before it is made.
SET lock_timeout = '3min';

-- Finds what is addressed to an agent or a role in the order of inboxes. Requests are found by open_requests.
DROP INDEX CONCURRENTLY IF EXISTS messages_addressed;
CREATE INDEX CONCURRENTLY messages_addressed ON messages (target, created_at, intent_no, position)
    WHERE target IS NOT NULL AND target <> '*' AND message_type <> 'request';

-- Finds what is for everyone in an intent.
DROP INDEX CONCURRENTLY IF EXISTS messages_everyone;
CREATE INDEX CONCURRENTLY messages_everyone ON messages (intent_no, created_at, position) WHERE (target IS NULL OR target = '*');

-- Finds the open requests to an agent or a role, and now in the order of inboxes.
DROP INDEX CONCURRENTLY IF EXISTS open_requests_target;
CREATE INDEX CONCURRENTLY open_requests_target ON open_requests (target, created_at, intent_no, position);

RESET lock_timeout;

-- +goose Down
DROP INDEX open_requests_target;
CREATE INDEX open_requests_target ON open_requests (target);
DROP INDEX messages_everyone;
DROP INDEX messages_addressed;
