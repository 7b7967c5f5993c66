-- +goose Up

-- The servers on this database, and when each last said that it lives. It says so only while it has open paths.
CREATE TABLE replicas (
    replica text NOT NULL PRIMARY KEY,
    seen_at bigint NOT NULL
);

-- The open ways to agents at each server. They count while their server was seen a moment ago.
CREATE TABLE agent_paths (
    agent_id  text NOT NULL,
    kind      text NOT NULL,
    replica   text NOT NULL,
    since     bigint NOT NULL,
    proven_at bigint, -- when a wake last called; NULL for other kinds
    asked     boolean NOT NULL, -- the other end is asked whether it is there, and the path ends without an answer
    PRIMARY KEY (agent_id, kind, replica)
);
CREATE INDEX agent_paths_replica ON agent_paths (replica);

-- When agents were last heard, were handed a message, and showed one to their model; 0: never.
CREATE TABLE agent_reach (
    agent_id    text NOT NULL PRIMARY KEY,
    heard_at    bigint NOT NULL DEFAULT 0,
    offered_at  bigint NOT NULL DEFAULT 0,
    surfaced_at bigint NOT NULL DEFAULT 0,
    surfaces_in text -- a JSON list: how many milliseconds the last messages took from the offer until they surfaced
);
CREATE INDEX agent_reach_heard ON agent_reach (heard_at);

-- +goose Down
DROP TABLE agent_reach;
DROP TABLE agent_paths;
DROP TABLE replicas;
