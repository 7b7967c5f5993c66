-- +goose NO TRANSACTION
-- +goose Up

-- The file may run again after it could not finish, so each column is added only if it is missing.

-- The id of the API key under which a thing was made, by which the things of a key are counted. A subscription with a webhook also lasts
-- only as long as its key. NULL: the server or an older program made it, or it is an intent that has ended.
ALTER TABLE intents ADD COLUMN IF NOT EXISTS made_by_key text COLLATE "C";
ALTER TABLE channels ADD COLUMN IF NOT EXISTS made_by_key text COLLATE "C";
ALTER TABLE tasks ADD COLUMN IF NOT EXISTS made_by_key text COLLATE "C";
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS made_by_key text COLLATE "C";
ALTER TABLE documents ADD COLUMN IF NOT EXISTS made_by_key text COLLATE "C";

-- How many rows, and bytes of their values, the calls of a key may store in a second. NULL: as many as the server's setting says.
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS rows_per_second bigint;
ALTER TABLE api_keys ADD COLUMN IF NOT EXISTS stored_bytes_per_second bigint;

-- Indexes are made without keeping anybody from the tables. PostgreSQL leaves one behind that it could not finish.
SET lock_timeout = '3min';
DROP INDEX CONCURRENTLY IF EXISTS intents_held;
CREATE INDEX CONCURRENTLY intents_held ON intents (made_by_key) WHERE made_by_key IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS channels_held;
CREATE INDEX CONCURRENTLY channels_held ON channels (made_by_key) WHERE made_by_key IS NOT NULL AND closed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS tasks_held;
CREATE INDEX CONCURRENTLY tasks_held ON tasks (made_by_key, intent_no) WHERE made_by_key IS NOT NULL AND completed_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_held;
CREATE INDEX CONCURRENTLY subscriptions_held ON subscriptions (made_by_key, id) WHERE made_by_key IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX IF NOT EXISTS documents_held ON documents (made_by_key) WHERE made_by_key IS NOT NULL;
RESET lock_timeout;

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
