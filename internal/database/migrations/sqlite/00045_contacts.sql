-- +goose Up

-- The ways to a person who acts under an agent's name.
CREATE TABLE contacts (
    agent_id      text NOT NULL,
    id            text NOT NULL,
    place         integer NOT NULL, -- order of the list
    kind          text NOT NULL,
    address       text NOT NULL, -- a URL or a mail address; of a push the subscription as JSON. It is a secret
    made_by_key   text NOT NULL, -- with which key it was set or last proved; it lasts only as long
    created_at    integer NOT NULL,
    code_digest   blob, -- NULL: no code counts
    code_until    integer NOT NULL, -- until when it counts
    code_attempts integer NOT NULL, -- how often it was tried
    proved_at     integer, -- NULL: never
    failing_since integer, -- NULL: the last thing that was sent arrived
    off_at        integer, -- NULL unless it is switched off
    last_problem  text NOT NULL, -- empty: none
    PRIMARY KEY (agent_id, id)
);
CREATE INDEX contacts_held ON contacts (made_by_key);

-- When codes were sent lately, by which the codes of a contact and of a key are counted.
CREATE TABLE contact_codes (
    code_no    integer PRIMARY KEY AUTOINCREMENT,
    agent_id   text NOT NULL,
    contact_id text NOT NULL,
    key_id     text NOT NULL,
    sent_at    integer NOT NULL
);
CREATE INDEX contact_codes_key ON contact_codes (key_id, sent_at);
CREATE INDEX contact_codes_contact ON contact_codes (agent_id, contact_id);
CREATE INDEX contact_codes_sent ON contact_codes (sent_at);

-- The names that have a proved contact, and when somebody has to look at what waits for them. Each look makes another version.
CREATE TABLE contact_looks (
    agent_id text PRIMARY KEY,
    look_at  integer NOT NULL,
    version  integer NOT NULL
);
CREATE INDEX contact_looks_due ON contact_looks (look_at);

-- Of which message of a sender a name was last told, and how often.
CREATE TABLE contact_calls (
    agent_id  text NOT NULL,
    sender    text NOT NULL,
    intent_no integer NOT NULL,
    position  integer NOT NULL,
    sent_at   integer NOT NULL, -- when the message was sent
    stranger  boolean NOT NULL, -- whether the sender was a stranger then
    began_at  integer NOT NULL, -- when it was first told
    step      integer NOT NULL, -- how often it was told of this message
    PRIMARY KEY (agent_id, sender)
);
CREATE INDEX contact_calls_began ON contact_calls (began_at);

-- What is to be sent. A row is taken up by moving due_at, and goes when it has arrived or counts no more.
CREATE TABLE contact_posts (
    post_no    integer PRIMARY KEY AUTOINCREMENT,
    agent_id   text NOT NULL,
    contact_id text NOT NULL,
    key_id     text NOT NULL, -- of the contact
    intent_no  integer NOT NULL,
    position   integer NOT NULL,
    pointer    blob NOT NULL, -- who asks, where and since when, as JSON
    attempts   integer NOT NULL,
    due_at     integer NOT NULL,
    made_at    integer NOT NULL
);
CREATE INDEX contact_posts_due ON contact_posts (due_at);
CREATE INDEX contact_posts_contact ON contact_posts (agent_id, contact_id);

-- The pair of keys with which the servers sign pushes to browsers; one row once it is made.
CREATE TABLE web_push_keys (
    one         integer PRIMARY KEY,
    public_key  text NOT NULL,
    private_key text NOT NULL,
    made_at     integer NOT NULL
);

-- +goose Down
DROP TABLE web_push_keys;
DROP TABLE contact_posts;
DROP TABLE contact_calls;
DROP TABLE contact_looks;
DROP TABLE contact_codes;
DROP TABLE contacts;
