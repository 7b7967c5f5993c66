-- +goose Up

-- Conventions: *_no are numbers used inside, ids are the texts clients see; times are microseconds since 1970 in UTC; JSON
-- is kept as the bytes that were validated at intake; all text compares by bytes. Rows that belong to an intent begin
-- their key with it.

CREATE TABLE intents (
    intent_no         integer PRIMARY KEY AUTOINCREMENT,
    id                text NOT NULL,
    title             text NOT NULL,
    description       text NOT NULL,
    created_by        text NOT NULL,
    constraints       blob NOT NULL,
    state             blob NOT NULL,
    confidence        real NOT NULL,
    version           integer NOT NULL,
    parent_intent_id  text,
    depends_on        blob NOT NULL,
    governance_policy blob,
    default_policy    text, -- NULL: no access control list
    created_at        integer NOT NULL,
    updated_at        integer NOT NULL
);
CREATE UNIQUE INDEX intents_id ON intents (id);
CREATE INDEX intents_parent ON intents (parent_intent_id) WHERE parent_intent_id IS NOT NULL;

-- The only lock of an intent, and the source of its positions, event sequences, channel numbers and times.
CREATE TABLE intent_heads (
    intent_no     integer PRIMARY KEY,
    status        text NOT NULL,
    ended_at      integer, -- when a terminal status was reached
    resumed_at    integer NOT NULL, -- when a suspension last ended; channels' time to live starts afresh there
    last_position integer NOT NULL,
    last_sequence integer NOT NULL,
    last_channel  integer NOT NULL,
    last_hash     text, -- event_hash of last_sequence
    last_at       integer NOT NULL,
    epoch         integer NOT NULL -- grows with each change of access, assignment, coordinator, membership or channel
);
CREATE INDEX intent_heads_ended ON intent_heads (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE events (
    intent_no       integer NOT NULL,
    sequence        integer NOT NULL,
    position        integer NOT NULL, -- an audit copy shares its message's
    id              text NOT NULL,
    event_type      text NOT NULL,
    actor           text NOT NULL,
    payload         blob NOT NULL,
    proof           blob,
    trace_id        text,
    parent_event_id text,
    created_at      integer NOT NULL,
    previous_hash   text,
    hash            text NOT NULL,
    PRIMARY KEY (intent_no, sequence)
);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_position ON events (intent_no, position);
CREATE INDEX events_trace ON events (trace_id) WHERE trace_id IS NOT NULL;

CREATE TABLE assignments (
    intent_no   integer NOT NULL,
    agent_id    text NOT NULL,
    id          text NOT NULL,
    role        text NOT NULL,
    assigned_at integer NOT NULL,
    PRIMARY KEY (intent_no, agent_id)
) WITHOUT ROWID;
CREATE INDEX assignments_agent ON assignments (agent_id);

CREATE TABLE access_entries (
    intent_no      integer NOT NULL,
    id             text NOT NULL,
    principal_id   text NOT NULL,
    principal_type text NOT NULL,
    permission     text NOT NULL,
    granted_by     text NOT NULL,
    granted_at     integer NOT NULL,
    expires_at     integer,
    expiry_logged  boolean NOT NULL,
    reason         text,
    PRIMARY KEY (intent_no, id)
) WITHOUT ROWID;
CREATE INDEX access_entries_principal ON access_entries (principal_id);
CREATE INDEX access_entries_expiry ON access_entries (expires_at) WHERE expires_at IS NOT NULL AND NOT expiry_logged;

CREATE TABLE coordinators (
    intent_no                  integer NOT NULL,
    id                         text NOT NULL,
    agent_id                   text NOT NULL,
    role                       text NOT NULL,
    supervisor_id              text,
    coordinator_type           text NOT NULL,
    status                     text NOT NULL,
    guardrails                 blob,
    heartbeat_interval_seconds integer NOT NULL,
    last_heartbeat_at          integer NOT NULL,
    granted_at                 integer NOT NULL,
    expires_at                 integer,
    metadata                   blob NOT NULL,
    PRIMARY KEY (intent_no, id)
);
CREATE UNIQUE INDEX coordinators_id ON coordinators (id);

CREATE TABLE tasks (
    intent_no             integer NOT NULL,
    id                    text NOT NULL,
    plan_id               text,
    name                  text NOT NULL,
    description           text NOT NULL,
    status                text NOT NULL,
    version               integer NOT NULL,
    priority              integer NOT NULL,
    input                 blob NOT NULL,
    output                blob,
    artifacts             blob NOT NULL,
    assigned_agent        text,
    capabilities_required blob NOT NULL,
    parent_task_id        text,
    retry_policy          blob,
    timeout_seconds       integer,
    attempt               integer NOT NULL,
    max_attempts          integer NOT NULL,
    permissions           blob,
    blocked_reason        text,
    error                 blob,
    metadata              blob NOT NULL,
    created_at            integer NOT NULL,
    started_at            integer,
    completed_at          integer,
    PRIMARY KEY (intent_no, id)
);
CREATE UNIQUE INDEX tasks_id ON tasks (id);

CREATE TABLE task_dependencies (
    intent_no  integer NOT NULL,
    task_id    text NOT NULL,
    depends_on text NOT NULL, -- a task of the same intent
    place      integer NOT NULL, -- order of the list
    PRIMARY KEY (intent_no, task_id, depends_on)
) WITHOUT ROWID;
CREATE INDEX task_dependencies_blocks ON task_dependencies (intent_no, depends_on);

CREATE TABLE agents (
    agent_id                text PRIMARY KEY,
    role_id                 text,
    name                    text,
    capabilities            blob NOT NULL,
    max_concurrent_tasks    integer NOT NULL,
    current_load            integer NOT NULL,
    status                  text NOT NULL,
    endpoint                text,
    interval_seconds        integer NOT NULL,
    unhealthy_after_seconds integer NOT NULL,
    dead_after_seconds      integer NOT NULL,
    metadata                blob NOT NULL,
    registered_at           integer NOT NULL,
    last_heartbeat_at       integer NOT NULL,
    draining_since          integer,
    drain_timeout_seconds   integer,
    departed_at             integer, -- the last deregistration, kept through a new registration: earlier memberships and requests are void
    key_id                  text NOT NULL, -- which API key registered it
    version                 integer NOT NULL
);
CREATE INDEX agents_role ON agents (role_id) WHERE role_id IS NOT NULL;
CREATE INDEX agents_present ON agents (agent_id) WHERE status IN ('active', 'draining', 'unhealthy');

CREATE TABLE channels (
    intent_no    integer NOT NULL,
    channel_no   integer NOT NULL,
    id           text NOT NULL,
    name         text NOT NULL,
    task_id      text,
    created_by   text NOT NULL,
    policy       text NOT NULL,
    audit        boolean NOT NULL,
    ttl_seconds  integer,
    max_messages integer NOT NULL,
    created_at   integer NOT NULL,
    closed_at    integer,
    deleted_at   integer,
    PRIMARY KEY (intent_no, channel_no)
);
CREATE UNIQUE INDEX channels_id ON channels (id);
CREATE UNIQUE INDEX channels_open_name ON channels (intent_no, name) WHERE closed_at IS NULL;
CREATE INDEX channels_open_ttl ON channels ((created_at + ttl_seconds * 1000000), intent_no, channel_no)
    WHERE closed_at IS NULL AND ttl_seconds IS NOT NULL; -- when the time to live runs out at the earliest
CREATE INDEX channels_open_task ON channels (task_id) WHERE closed_at IS NULL AND task_id IS NOT NULL;

CREATE TABLE channel_heads (
    intent_no       integer NOT NULL,
    channel_no      integer NOT NULL,
    message_count   integer NOT NULL, -- ever sent; the newest message's ordinal
    floor           integer NOT NULL, -- messages up to this ordinal are evicted
    last_message_at integer,
    PRIMARY KEY (intent_no, channel_no)
) WITHOUT ROWID;

CREATE TABLE members (
    intent_no  integer NOT NULL,
    channel_no integer NOT NULL,
    agent_id   text NOT NULL,
    place      integer NOT NULL, -- order of the list
    added_at   integer NOT NULL,
    PRIMARY KEY (intent_no, channel_no, agent_id)
) WITHOUT ROWID;
CREATE INDEX members_agent ON members (agent_id);

CREATE TABLE messages (
    intent_no            integer NOT NULL,
    position             integer NOT NULL,
    channel_no           integer NOT NULL,
    ordinal              integer NOT NULL, -- place in the channel, from 1, without gaps
    id                   text NOT NULL,
    sender               text NOT NULL,
    target               text, -- as sent; NULL: everyone
    message_type         text NOT NULL,
    correlation_position integer, -- a response's request
    correlation_id       text,
    payload              blob NOT NULL,
    metadata             blob NOT NULL,
    created_at           integer NOT NULL,
    expires_at           integer,
    read_at              integer, -- first acknowledgement
    ended_at             integer, -- expiry made lasting
    PRIMARY KEY (intent_no, position)
);
CREATE UNIQUE INDEX messages_id ON messages (id);
CREATE UNIQUE INDEX messages_ordinal ON messages (intent_no, channel_no, ordinal);
CREATE INDEX messages_correlation ON messages (intent_no, correlation_position, position) WHERE correlation_position IS NOT NULL;

-- One row for each request that is neither answered nor expired for good.
CREATE TABLE open_requests (
    intent_no  integer NOT NULL,
    position   integer NOT NULL,
    channel_no integer NOT NULL,
    target     text NOT NULL,
    created_at integer NOT NULL,
    expires_at integer,
    PRIMARY KEY (intent_no, position)
) WITHOUT ROWID;
CREATE INDEX open_requests_channel ON open_requests (intent_no, channel_no);
CREATE INDEX open_requests_target ON open_requests (target);
CREATE INDEX open_requests_expiry ON open_requests (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE receipts (
    intent_no integer NOT NULL,
    position  integer NOT NULL,
    agent_id  text NOT NULL,
    read_at   integer NOT NULL,
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

CREATE TABLE idempotency_keys (
    intent_no   integer NOT NULL,
    sender      text NOT NULL,
    scope       text NOT NULL, -- channel:<id>, or name:<name> when sent by name
    key         text NOT NULL,
    fingerprint blob NOT NULL, -- SHA-256 of what was sent
    position    integer NOT NULL,
    channel_id  text NOT NULL,
    message_id  text NOT NULL,
    target      text,
    created_at  integer NOT NULL, -- the message's
    PRIMARY KEY (intent_no, sender, scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- What a committed cause still has to do, intent by intent: departures, removals, purges.
CREATE TABLE pending_work (
    kind       text NOT NULL,
    key        text NOT NULL,
    intent_no  integer NOT NULL,
    created_at integer NOT NULL,
    PRIMARY KEY (kind, key, intent_no)
) WITHOUT ROWID;
CREATE INDEX pending_work_age ON pending_work (kind, created_at);

-- +goose Down
DROP TABLE pending_work;
DROP TABLE idempotency_keys;
DROP TABLE receipts;
DROP TABLE open_requests;
DROP TABLE messages;
DROP TABLE members;
DROP TABLE channel_heads;
DROP TABLE channels;
DROP TABLE agents;
DROP TABLE task_dependencies;
DROP TABLE tasks;
DROP TABLE coordinators;
DROP TABLE access_entries;
DROP TABLE assignments;
DROP TABLE events;
DROP TABLE intent_heads;
DROP TABLE intents;
