-- +goose NO TRANSACTION
-- +goose Up

-- Who made a subscription with a webhook: the id of the key, or of what stands for one; and the issuer and the subject of a token, or the
-- name in a certificate. NULL if a program of release 0.1 made it. When the key ends, its subscriptions pause.
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS made_by text COLLATE "C";
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS made_by_subject text COLLATE "C";

-- When a server last stored something here only to find out whether the database stores anything.
ALTER TABLE api_keys_state ADD COLUMN IF NOT EXISTS probed_at bigint;

-- Finds what was made with a key. PostgreSQL leaves an index behind that it could not finish, so it is removed before it is made.
SET lock_timeout = '3min';
DROP INDEX CONCURRENTLY IF EXISTS subscriptions_made_by;
CREATE INDEX CONCURRENTLY subscriptions_made_by ON subscriptions (made_by, id) WHERE made_by IS NOT NULL;
RESET lock_timeout;

-- +goose Down
DROP INDEX subscriptions_made_by;
ALTER TABLE api_keys_state DROP COLUMN probed_at;
ALTER TABLE subscriptions DROP COLUMN made_by_subject;
ALTER TABLE subscriptions DROP COLUMN made_by;
