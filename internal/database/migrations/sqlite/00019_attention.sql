-- +goose Up

-- What recipients did with messages: when a harness first said that its model saw one, and what the recipient last said that it did. One
-- of the two may be missing. What follows from answers, reactions and claims is not stored here.
CREATE TABLE dispositions (
    intent_no   integer NOT NULL,
    position    integer NOT NULL,
    agent_id    text NOT NULL,
    surfaced_at integer,
    disposition text,
    reason      text,
    until_at    integer,
    disposed_at integer,
    changes     integer NOT NULL DEFAULT 0, -- how often the recipient set the disposition
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE dispositions;
