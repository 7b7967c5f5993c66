-- +goose Up

-- What the contents of edited messages were and are, one row for each revision. A message that was never edited has none.
CREATE TABLE message_revisions (
    intent_no  bigint NOT NULL,
    position   bigint NOT NULL, -- of the message
    revision   bigint NOT NULL, -- from 1
    payload    bytea NOT NULL,
    metadata   bytea NOT NULL,
    subject    text NOT NULL, -- empty: none
    mentions   bytea, -- a JSON list; NULL: none
    created_at bigint NOT NULL,
    PRIMARY KEY (intent_no, position, revision)
);

-- +goose Down
DROP TABLE message_revisions;
