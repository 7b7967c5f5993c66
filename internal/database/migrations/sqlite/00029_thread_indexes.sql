-- +goose Up

-- Finds the messages of a thread, and the thread of a message whose first message is gone.
CREATE INDEX IF NOT EXISTS messages_thread ON messages (intent_no, thread_position, position) WHERE thread_position IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_thread_id ON messages (thread_id) WHERE thread_id IS NOT NULL;

-- Finds what an agent wrote in a thread.
CREATE INDEX IF NOT EXISTS messages_thread_sender ON messages (intent_no, thread_position, sender, ordinal)
    WHERE thread_position IS NOT NULL;

-- +goose Down
DROP INDEX messages_thread_sender;
DROP INDEX messages_thread_id;
DROP INDEX messages_thread;
