-- +goose Up

-- What became of the obligations of requests, one row for each.
CREATE TABLE obligations (
    intent_no     integer NOT NULL,
    position      integer NOT NULL, -- of the request
    channel_no    integer NOT NULL,
    message_id    text NOT NULL,
    author        text NOT NULL,
    target        text NOT NULL, -- to whom the request was sent
    delegate      text NOT NULL, -- empty: none
    blocks        text NOT NULL,
    opened_at     integer NOT NULL,
    step          integer NOT NULL, -- how many steps were made
    due_at        integer, -- when somebody has to look at it; NULL: never again
    extended      boolean NOT NULL,
    paused_at     integer, -- NULL unless it is paused
    discharged_at integer, -- NULL while it is open
    discharged_by text NOT NULL, -- empty while it is open
    note          text NOT NULL, -- of the discharge; empty: none
    PRIMARY KEY (intent_no, position)
);
CREATE INDEX obligations_due ON obligations (due_at) WHERE due_at IS NOT NULL;
-- Open obligations, as their two sides list them.
CREATE INDEX obligations_author ON obligations (author, opened_at, intent_no, position) WHERE discharged_at IS NULL;
CREATE INDEX obligations_target ON obligations (target, opened_at, intent_no, position) WHERE discharged_at IS NULL;
CREATE INDEX obligations_open ON obligations (intent_no, author, channel_no) WHERE discharged_at IS NULL;

-- +goose Down
DROP TABLE obligations;
