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

-- Finds what an agent wrote in a thread.
CREATE INDEX messages_thread_sender ON messages (intent_no, thread_position, sender, ordinal) WHERE thread_position IS NOT NULL;

-- +goose Down
DROP INDEX messages_thread_sender;
DROP TABLE dispositions;
DROP TABLE surfacings;
