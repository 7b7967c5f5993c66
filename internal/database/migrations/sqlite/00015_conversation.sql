-- +goose Up

-- What messages carry beyond RFC-0021; NULL for a message that carries none of it.
ALTER TABLE messages ADD COLUMN thread_position integer; -- of the thread's first message, where the sender gave a parent
ALTER TABLE messages ADD COLUMN conversation blob;     -- the other fields, as JSON

-- What happened to messages, each in its own place of the intent's log. An annotation goes with its message.
CREATE TABLE annotations (
    intent_no        integer NOT NULL,
    position         integer NOT NULL,
    channel_no       integer NOT NULL,
    message_position integer NOT NULL,
    id               text NOT NULL,
    annotation_type  text NOT NULL,
    agent_id         text NOT NULL,
    details          blob NOT NULL, -- JSON
    created_at       integer NOT NULL,
    PRIMARY KEY (intent_no, position)
);
CREATE INDEX annotations_message ON annotations (intent_no, message_position, position);
CREATE INDEX annotations_channel ON annotations (intent_no, channel_no, position);

-- +goose Down
DROP TABLE annotations;
ALTER TABLE messages DROP COLUMN conversation;
ALTER TABLE messages DROP COLUMN thread_position;
