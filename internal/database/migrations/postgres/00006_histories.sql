-- +goose Up

-- Numbers by which a server that lives through a loss of commits tells what it remembers from what the database holds since.
-- The epoch and the numbers of intents, channels and subscriptions have random bits from here on, for the same reason.
ALTER TABLE intent_heads
    ADD COLUMN tag bigint NOT NULL DEFAULT 0, -- drawn at random by each change of the row
    ADD COLUMN audience_tag bigint NOT NULL DEFAULT 0; -- drawn at random by each change that adds to the intent's audiences

-- +goose Down
ALTER TABLE intent_heads DROP COLUMN audience_tag, DROP COLUMN tag;
