-- +goose Up

-- When a message was last handed to the recipient's model by a call that waits for what was not handed over; 0 for never.
ALTER TABLE dispositions ADD COLUMN handed_at integer NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE dispositions DROP COLUMN handed_at;
