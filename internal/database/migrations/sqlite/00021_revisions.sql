-- +goose Up

-- What the contents of edited messages were and are, one row for each revision. A message that was never edited has none.
CREATE TABLE message_revisions (
    intent_no  integer NOT NULL,
    position   integer NOT NULL, -- of the message
    revision   integer NOT NULL, -- from 1
    payload    blob NOT NULL,
    metadata   blob NOT NULL,
    subject    text NOT NULL, -- empty: none
    mentions   blob, -- a JSON list; NULL: none
    created_at integer NOT NULL,
    PRIMARY KEY (intent_no, position, revision)
);

-- +goose Down
DROP TABLE message_revisions;
