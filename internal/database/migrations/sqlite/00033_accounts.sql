-- +goose Up

-- The id of the API key under which a thing was made, by which the things of a key are counted. A subscription with a webhook also lasts
-- only as long as its key. NULL: the server or an older program made it, or it is an intent that has ended.
ALTER TABLE intents ADD COLUMN made_by_key text;
ALTER TABLE channels ADD COLUMN made_by_key text;
ALTER TABLE tasks ADD COLUMN made_by_key text;
ALTER TABLE subscriptions ADD COLUMN made_by_key text;
ALTER TABLE documents ADD COLUMN made_by_key text;

-- How many rows, and bytes of their values, the calls of a key may store in a second. NULL: as many as the server's setting says.
ALTER TABLE api_keys ADD COLUMN rows_per_second integer;
ALTER TABLE api_keys ADD COLUMN stored_bytes_per_second integer;

CREATE INDEX intents_held ON intents (made_by_key) WHERE made_by_key IS NOT NULL;
CREATE INDEX channels_held ON channels (made_by_key) WHERE made_by_key IS NOT NULL AND closed_at IS NULL;
CREATE INDEX tasks_held ON tasks (made_by_key, intent_no) WHERE made_by_key IS NOT NULL AND completed_at IS NULL;
CREATE INDEX subscriptions_held ON subscriptions (made_by_key, id) WHERE made_by_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX documents_held ON documents (made_by_key) WHERE made_by_key IS NOT NULL;

-- +goose Down
DROP INDEX intents_held;
DROP INDEX channels_held;
DROP INDEX tasks_held;
DROP INDEX subscriptions_held;
DROP INDEX documents_held;
ALTER TABLE intents DROP COLUMN made_by_key;
ALTER TABLE channels DROP COLUMN made_by_key;
ALTER TABLE tasks DROP COLUMN made_by_key;
ALTER TABLE subscriptions DROP COLUMN made_by_key;
ALTER TABLE documents DROP COLUMN made_by_key;
ALTER TABLE api_keys DROP COLUMN stored_bytes_per_second;
ALTER TABLE api_keys DROP COLUMN rows_per_second;
