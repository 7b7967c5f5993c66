-- +goose Up

-- Who is signed in at the web console. Both secrets are stored as digests only.
CREATE TABLE console_sessions (
    session_id    text NOT NULL PRIMARY KEY, -- the SHA-256 of the cookie, in hexadecimal digits
    secret_digest bytea NOT NULL, -- SHA-256 of what the page sends with the cookie, or of the code that it gets it for
    code_until    bigint,       -- until when that code is accepted; NULL after it was used, and where there was none
    key_id        text NOT NULL,
    key_check     bytea,          -- which of the key's secrets the session began with; NULL if an identity provider vouches for it
    agent_id      text NOT NULL,
    human         boolean NOT NULL,
    created_at    bigint NOT NULL,
    used_at       bigint NOT NULL -- noted at most once a minute
);
CREATE INDEX console_sessions_key ON console_sessions (key_id, created_at);
CREATE INDEX console_sessions_created ON console_sessions (created_at);
CREATE INDEX console_sessions_used ON console_sessions (used_at);

-- What the identity provider has said of those for whom it vouches.
CREATE TABLE console_tokens (
    session_id     text NOT NULL PRIMARY KEY,
    issuer         text NOT NULL,
    subject        text NOT NULL,
    agents         bytea NOT NULL, -- a JSON list, as roles
    roles          bytea NOT NULL,
    accepted_until bigint NOT NULL,
    refresh_token  bytea, -- encrypted with the cookie, which the database does not have; NULL if the provider gave none
    renewing_at    bigint NOT NULL -- when a server last began to renew it; 0: never
);

-- One row: what the server's cookies are signed with, so that made-up ones cost no look at the database.
CREATE TABLE console_state (
    one  bigint NOT NULL PRIMARY KEY,
    seal bytea NOT NULL
);

-- +goose Down
DROP TABLE console_state;
DROP TABLE console_tokens;
DROP TABLE console_sessions;
