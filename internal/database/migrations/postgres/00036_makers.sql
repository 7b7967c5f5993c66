-- +goose NO TRANSACTION
-- +goose Up

-- Whose token or certificate a subscription with a webhook was made with: the issuer and the subject, or the name. The key, or what stands
-- for one, is in made_by_key. When it ends, its subscriptions pause.
ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS made_by_subject text COLLATE "C";

-- When a server last stored something here only to find out whether the database stores anything.
ALTER TABLE api_keys_state ADD COLUMN IF NOT EXISTS probed_at bigint;

-- +goose Down
ALTER TABLE api_keys_state DROP COLUMN probed_at;
ALTER TABLE subscriptions DROP COLUMN made_by_subject;
