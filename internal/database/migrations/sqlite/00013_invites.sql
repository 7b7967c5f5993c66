-- +goose Up

-- An invite is a key for one channel. These columns are set for invites only.
ALTER TABLE api_keys ADD COLUMN channel_id text;     -- the channel, and its intent
ALTER TABLE api_keys ADD COLUMN intent_no integer;
ALTER TABLE api_keys ADD COLUMN max_agents integer;     -- how many guests may come with it
ALTER TABLE api_keys ADD COLUMN invited_by text;     -- the agent that made it, and its key
ALTER TABLE api_keys ADD COLUMN invited_by_key text;
ALTER TABLE api_keys ADD COLUMN guests_left boolean NOT NULL DEFAULT false; -- after its end, they are no members any more
CREATE INDEX api_keys_invites ON api_keys (channel_id, created_at, key_id) WHERE channel_id IS NOT NULL;
CREATE INDEX api_keys_inviting ON api_keys (invited_by_key) WHERE channel_id IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX api_keys_guests ON api_keys (key_id) WHERE channel_id IS NOT NULL AND NOT guests_left;

-- The names of guests, each of one invite for ever.
CREATE TABLE guests (
    agent_id  text PRIMARY KEY,
    key_id    text NOT NULL,
    place     integer NOT NULL, -- within the invite, in the order of the names
    joined_at integer           -- NULL until the name is first used
);
CREATE UNIQUE INDEX guests_key ON guests (key_id, place);

-- +goose Down
DROP TABLE guests;
DROP INDEX api_keys_guests;
DROP INDEX api_keys_inviting;
DROP INDEX api_keys_invites;
ALTER TABLE api_keys DROP COLUMN guests_left;
ALTER TABLE api_keys DROP COLUMN invited_by_key;
ALTER TABLE api_keys DROP COLUMN invited_by;
ALTER TABLE api_keys DROP COLUMN max_agents;
ALTER TABLE api_keys DROP COLUMN intent_no;
ALTER TABLE api_keys DROP COLUMN channel_id;
