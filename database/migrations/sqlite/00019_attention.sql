-- +goose Up

-- When a recipient's harness first said that its model saw a message.
CREATE TABLE surfacings (
    intent_no   integer NOT NULL,
    position    integer NOT NULL,
    agent_id    text NOT NULL,
    surfaced_at integer NOT NULL,
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

-- What recipients last said that they did with messages. What follows from their answers is not stored here.
CREATE TABLE dispositions (
    intent_no   integer NOT NULL,
    position    integer NOT NULL,
    agent_id    text NOT NULL,
    disposition text NOT NULL,
    reason      text NOT NULL,
    until_at    integer,
    disposed_at integer NOT NULL,
    changes     integer NOT NULL, -- how often the recipient set it
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE dispositions;
DROP TABLE surfacings;
