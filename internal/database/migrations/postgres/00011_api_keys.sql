-- +goose Up

-- API keys beside those of the configuration. Secrets are stored as digests only.
CREATE TABLE api_keys (
    key_id              text COLLATE "C" PRIMARY KEY,
    label               text COLLATE "C" NOT NULL,
    digest              bytea NOT NULL, -- SHA-256 of the secret
    former_digest       bytea,          -- of the secret before the last rotation,
    former_expires_at   bigint,       -- which is accepted until then
    operator            boolean NOT NULL,
    agents              bytea NOT NULL, -- a JSON list, as roles
    roles               bytea NOT NULL,
    read_only           boolean NOT NULL,
    human               boolean NOT NULL,
    messages_per_second bigint,
    bytes_per_second    bigint,
    created_at          bigint NOT NULL,
    created_by          text COLLATE "C" NOT NULL,
    expires_at          bigint,
    last_used_at        bigint, -- noted at most once a minute
    revoked_at          bigint,
    version             bigint NOT NULL
);
CREATE UNIQUE INDEX api_keys_digest ON api_keys (digest);
CREATE INDEX api_keys_created ON api_keys (created_at, key_id);
CREATE INDEX api_keys_live ON api_keys (key_id) WHERE revoked_at IS NULL;

-- One row. Its tag is another one after each change of a key, except of last_used_at, so that servers see by one row whether
-- what they remember of the keys still holds.
CREATE TABLE api_keys_state (
    one bigint PRIMARY KEY,
    tag bigint NOT NULL
);
INSERT INTO api_keys_state VALUES (1, 0);

-- +goose Down
DROP TABLE api_keys_state;
DROP TABLE api_keys;
