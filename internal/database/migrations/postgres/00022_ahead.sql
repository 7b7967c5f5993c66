-- +goose Up

-- The highest number that the active stream may give to deliveries before it stores them; 0, or at most last_number: none.
ALTER TABLE subscriptions ADD COLUMN reserved_through bigint NOT NULL DEFAULT 0;
-- Numbers that a stream had reserved when it was replaced, and that were not stored: a JSON list of [first, last]; empty for none.
ALTER TABLE subscriptions ADD COLUMN abandoned text COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE subscriptions DROP COLUMN abandoned;
ALTER TABLE subscriptions DROP COLUMN reserved_through;
