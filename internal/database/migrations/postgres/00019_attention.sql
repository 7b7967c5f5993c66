-- +goose Up

-- What recipients did with messages: when a harness first said that its model saw one, and what the recipient last said that it did. One
-- of the two may be missing. What follows from answers, reactions and claims is not stored here.
CREATE TABLE dispositions (
    intent_no   bigint NOT NULL,
    position    bigint NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    surfaced_at bigint,
    disposition text COLLATE "C",
    reason      text COLLATE "C",
    until_at    bigint,
    disposed_at bigint,
    changes     bigint NOT NULL DEFAULT 0, -- how often the recipient set the disposition
    PRIMARY KEY (intent_no, position, agent_id)
);

-- +goose Down
DROP TABLE dispositions;
