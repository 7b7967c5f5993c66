-- +goose NO TRANSACTION
-- +goose Up

-- Indexes on a table that was there before are made without keeping anybody from it. PostgreSQL then leaves an index behind that it
-- could not finish, so each one is removed before it is made.
SET lock_timeout = '3min';

-- Finds the messages of a thread, and the thread of a message whose first message is gone.
DROP INDEX CONCURRENTLY IF EXISTS messages_thread;
CREATE INDEX CONCURRENTLY messages_thread ON messages (intent_no, thread_position, position) WHERE thread_position IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS messages_thread_id;
CREATE INDEX CONCURRENTLY messages_thread_id ON messages (thread_id) WHERE thread_id IS NOT NULL;

-- Finds what an agent wrote in a thread.
DROP INDEX CONCURRENTLY IF EXISTS messages_thread_sender;
CREATE INDEX CONCURRENTLY messages_thread_sender ON messages (intent_no, thread_position, sender, ordinal)
    WHERE thread_position IS NOT NULL;

RESET lock_timeout;

-- +goose Down
DROP INDEX messages_thread_sender;
DROP INDEX messages_thread_id;
DROP INDEX messages_thread;
