-- +goose Up

-- Where a key works, and what a subscription that was made with such a key shows: a JSON object with intents and channels.
-- NULL is everywhere.
ALTER TABLE api_keys ADD COLUMN scope blob;
ALTER TABLE subscriptions ADD COLUMN scope blob;

-- +goose Down
ALTER TABLE subscriptions DROP COLUMN scope;
ALTER TABLE api_keys DROP COLUMN scope;
