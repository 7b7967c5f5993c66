-- +goose Up

-- The signals that agents set on messages. A signal that was removed stays as a row, because an agent may change its signals of a
-- message only so often.
CREATE TABLE reactions (
    intent_no        integer NOT NULL,
    position         integer NOT NULL, -- of the annotation that set the signal
    message_position integer NOT NULL,
    agent_id         text NOT NULL,
    signal           text NOT NULL,
    note             text NOT NULL, -- empty for none
    eta              text NOT NULL, -- empty for none
    created_at       integer NOT NULL,
    changes          integer NOT NULL, -- how often it was set, changed or removed
    present          boolean NOT NULL,
    PRIMARY KEY (intent_no, position)
);
CREATE UNIQUE INDEX reactions_agent ON reactions (intent_no, message_position, agent_id, signal);
CREATE INDEX reactions_message ON reactions (intent_no, message_position, position) WHERE present;

-- What a subscription delivers beside messages and events: words separated by commas; empty for nothing. For an agent's own log:
-- what it numbers, since a stream asked for it.
ALTER TABLE subscriptions ADD COLUMN include text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE subscriptions DROP COLUMN include;
DROP TABLE reactions;
