-- +goose Up

-- From whom agents take no messages that are addressed to them.
CREATE TABLE refusals (
    agent_id   text COLLATE "C" NOT NULL,
    sender     text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (agent_id, sender)
);

-- A number that each change of the agent's refusals draws anew; NULL while it refuses nobody.
ALTER TABLE agents ADD COLUMN refusals bigint;

-- +goose Down
ALTER TABLE agents DROP COLUMN refusals;
DROP TABLE refusals;
