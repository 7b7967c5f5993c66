-- +goose Up

-- The leases of intents that have not ended (RFC-0003). What has ended is in the intent's log.
CREATE TABLE leases (
    intent_no   integer NOT NULL,
    scope       text NOT NULL,
    id          text NOT NULL,
    agent_id    text NOT NULL,
    fence       integer NOT NULL,
    acquired_at integer NOT NULL,
    expires_at  integer,          -- NULL while the intent is suspended,
    left_over   integer,          -- and then the microseconds that are left
    due_at      integer NOT NULL, -- when time alone may end it
    epoch       integer NOT NULL, -- of the intent when the holder's access was last judged
    PRIMARY KEY (intent_no, scope)
);
CREATE UNIQUE INDEX leases_id ON leases (id);
CREATE INDEX leases_agent ON leases (agent_id, intent_no);
CREATE INDEX leases_due ON leases (due_at);

-- Calls that wait for a scope, in the order of asking.
CREATE TABLE lease_waiters (
    intent_no   integer NOT NULL,
    place       integer NOT NULL, -- a time of the intent's log
    scope       text NOT NULL,
    agent_id    text NOT NULL,
    alive_until integer NOT NULL, -- after that its server counts as dead
    PRIMARY KEY (intent_no, place)
);

-- +goose Down
DROP TABLE lease_waiters;
DROP TABLE leases;
