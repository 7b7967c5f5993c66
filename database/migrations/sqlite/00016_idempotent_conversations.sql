-- +goose Up

-- What the message that was first sent under a key carried beyond RFC-0021, as JSON; NULL for none.
ALTER TABLE idempotency_keys ADD COLUMN conversation blob;

-- +goose Down
ALTER TABLE idempotency_keys DROP COLUMN conversation;
