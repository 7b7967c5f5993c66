-- +goose Up

-- The leases of intents that have not ended (RFC-0003). What has ended is in the intent's log.
CREATE TABLE leases (
    intent_no   bigint NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    fence       bigint NOT NULL,
    acquired_at bigint NOT NULL,
    expires_at  bigint,          -- NULL while the intent is suspended,
    left_over   bigint,          -- and then the microseconds that are left
    due_at      bigint NOT NULL, -- when time alone may end it
    epoch       bigint NOT NULL, -- of the intent when the holder's access was last judged
    PRIMARY KEY (intent_no, scope)
);
CREATE UNIQUE INDEX leases_id ON leases (id);
CREATE INDEX leases_agent ON leases (agent_id, intent_no);
CREATE INDEX leases_due ON leases (due_at);

-- Calls that wait for a scope, in the order of asking.
CREATE TABLE lease_waiters (
    intent_no   bigint NOT NULL,
    place       bigint NOT NULL, -- a time of the intent's log
    scope       text COLLATE "C" NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    alive_until bigint NOT NULL, -- after that its server counts as dead
    PRIMARY KEY (intent_no, place)
);

-- +goose Down
DROP TABLE lease_waiters;
DROP TABLE leases;
