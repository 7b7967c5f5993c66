-- +goose Up

-- What became of the obligations of requests, one row for each.
CREATE TABLE obligations (
    intent_no     bigint NOT NULL,
    position      bigint NOT NULL, -- of the request
    channel_no    bigint NOT NULL,
    message_id    text COLLATE "C" NOT NULL,
    author        text COLLATE "C" NOT NULL,
    target        text COLLATE "C" NOT NULL, -- to whom the request was sent
    delegate      text COLLATE "C" NOT NULL, -- empty: none
    blocks        text COLLATE "C" NOT NULL,
    opened_at     bigint NOT NULL,
    step          bigint NOT NULL, -- how many steps were made
    due_at        bigint, -- when somebody has to look at it; NULL: never again
    extended      boolean NOT NULL,
    paused_at     bigint, -- NULL unless it is paused
    discharged_at bigint, -- NULL while it is open
    discharged_by text COLLATE "C" NOT NULL, -- empty while it is open
    note          text COLLATE "C" NOT NULL, -- of the discharge; empty: none
    PRIMARY KEY (intent_no, position)
);
CREATE INDEX obligations_due ON obligations (due_at) WHERE due_at IS NOT NULL;
-- Open obligations, as their two sides list them.
CREATE INDEX obligations_author ON obligations (author, opened_at, intent_no, position) WHERE discharged_at IS NULL;
CREATE INDEX obligations_target ON obligations (target, opened_at, intent_no, position) WHERE discharged_at IS NULL;
CREATE INDEX obligations_open ON obligations (intent_no, author, channel_no) WHERE discharged_at IS NULL;

-- +goose Down
DROP TABLE obligations;
