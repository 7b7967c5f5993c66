-- +goose Up

-- When a recipient's harness first said that its model saw a message.
CREATE TABLE surfacings (
    intent_no   bigint NOT NULL,
    position    bigint NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    surfaced_at bigint NOT NULL,
    PRIMARY KEY (intent_no, position, agent_id)
);

-- What recipients last said that they did with messages. What follows from their answers is not stored here.
CREATE TABLE dispositions (
    intent_no   bigint NOT NULL,
    position    bigint NOT NULL,
    agent_id    text COLLATE "C" NOT NULL,
    disposition text COLLATE "C" NOT NULL,
    reason      text COLLATE "C" NOT NULL,
    until_at    bigint,
    disposed_at bigint NOT NULL,
    changes     bigint NOT NULL, -- how often the recipient set it
    PRIMARY KEY (intent_no, position, agent_id)
);

-- +goose Down
DROP TABLE dispositions;
DROP TABLE surfacings;
