-- +goose Up

-- What the message that was first sent under a key carried beyond RFC-0021, as JSON; NULL for none.
ALTER TABLE idempotency_keys ADD COLUMN conversation bytea;

-- The id of the thread's first message, where the message names a thread. It finds the thread when the first message is gone.
ALTER TABLE messages ADD COLUMN thread_id text COLLATE "C";

-- +goose Down
ALTER TABLE messages DROP COLUMN thread_id;
ALTER TABLE idempotency_keys DROP COLUMN conversation;
