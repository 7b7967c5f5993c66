-- +goose Up

-- Who is signed in at the web console. Both secrets are stored as digests only.
CREATE TABLE console_sessions (
    session_id    text NOT NULL PRIMARY KEY, -- the SHA-256 of the cookie, in hexadecimal digits
    secret_digest blob NOT NULL, -- SHA-256 of what the page sends with the cookie, or of the code that it gets it for
    code_until    integer,       -- until when that code is accepted; NULL after it was used, and where there was none
    key_id        text NOT NULL,
    key_check     blob,          -- which of the key's secrets the session began with; NULL if an identity provider vouches for it
    agent_id      text NOT NULL,
    human         boolean NOT NULL,
    created_at    integer NOT NULL,
    used_at       integer NOT NULL -- noted at most once a minute
) WITHOUT ROWID;
CREATE INDEX console_sessions_key ON console_sessions (key_id, created_at);
CREATE INDEX console_sessions_created ON console_sessions (created_at);
CREATE INDEX console_sessions_used ON console_sessions (used_at);

-- What the identity provider has said of those for whom it vouches.
CREATE TABLE console_tokens (
    session_id     text NOT NULL PRIMARY KEY,
    issuer         text NOT NULL,
    subject        text NOT NULL,
    agents         blob NOT NULL, -- a JSON list, as roles
    roles          blob NOT NULL,
    accepted_until integer NOT NULL,
    refresh_token  blob, -- encrypted with the cookie, which the database does not have; NULL if the provider gave none
    renewing_at    integer NOT NULL -- when a server last began to renew it; 0: never
) WITHOUT ROWID;

-- One row: what the server's cookies are signed with, so that made-up ones cost no look at the database.
CREATE TABLE console_state (
    one  integer NOT NULL PRIMARY KEY,
    seal blob NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE console_state;
DROP TABLE console_tokens;
DROP TABLE console_sessions;
