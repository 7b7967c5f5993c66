-- +goose Up

-- The position of the last event that was removed from the beginning of the log; 0 if none was.
ALTER TABLE intent_heads ADD COLUMN events_removed integer NOT NULL DEFAULT 0;

-- What is kept of the events that were removed from the beginning of a log: the last of them, by which the rest verifies.
CREATE TABLE event_checkpoints (
    intent_no   integer PRIMARY KEY,
    sequence    integer NOT NULL,
    position    integer NOT NULL,
    hash        text NOT NULL,
    created_at  integer NOT NULL,
    removed_at  integer NOT NULL,
    first_break integer -- sequence of the first removed event at which the chain did not verify any more
);

-- +goose Down
DROP TABLE event_checkpoints;
ALTER TABLE intent_heads DROP COLUMN events_removed;
