-- +goose Up

-- From whom agents take no messages that are addressed to them.
CREATE TABLE refusals (
    agent_id   text NOT NULL,
    sender     text NOT NULL,
    created_at integer NOT NULL,
    PRIMARY KEY (agent_id, sender)
) WITHOUT ROWID;

-- A number that each change of the agent's refusals draws anew; NULL while it refuses nobody.
ALTER TABLE agents ADD COLUMN refusals integer;

-- +goose Down
ALTER TABLE agents DROP COLUMN refusals;
DROP TABLE refusals;
