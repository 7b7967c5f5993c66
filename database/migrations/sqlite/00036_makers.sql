-- +goose Up

-- Who made a subscription with a webhook: the id of the key, or of what stands for one; and the issuer and the subject of a token, or the
-- name in a certificate. NULL if a program of release 0.1 made it. When the key ends, its subscriptions pause.
ALTER TABLE subscriptions ADD COLUMN made_by text;
ALTER TABLE subscriptions ADD COLUMN made_by_subject text;

-- When a server last stored something here only to find out whether the database stores anything.
ALTER TABLE api_keys_state ADD COLUMN probed_at integer;

-- Finds what was made with a key.
CREATE INDEX subscriptions_made_by ON subscriptions (made_by, id) WHERE made_by IS NOT NULL;

-- +goose Down
DROP INDEX subscriptions_made_by;
ALTER TABLE api_keys_state DROP COLUMN probed_at;
ALTER TABLE subscriptions DROP COLUMN made_by_subject;
ALTER TABLE subscriptions DROP COLUMN made_by;
