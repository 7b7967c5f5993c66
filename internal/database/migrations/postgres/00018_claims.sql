-- +goose Up

-- Who works on which message. A claim whose place somebody else may take is kept, with the reason why it ended, while its holder may
-- still answer.
CREATE TABLE claims (
    intent_no        bigint NOT NULL,
    message_position bigint NOT NULL,
    agent_id         text COLLATE "C" NOT NULL,
    channel_no       bigint NOT NULL,
    message_id       text COLLATE "C" NOT NULL,
    fence            bigint NOT NULL, -- a time of the intent's log
    claim_key        text COLLATE "C" NOT NULL, -- the idempotency key of the call that made it, or empty
    expires_at       bigint NOT NULL,
    ended            text COLLATE "C" NOT NULL, -- why it ended; empty while it stands
    due_at           bigint NOT NULL, -- when the sweep has to look at it
    epoch            bigint NOT NULL, -- of the intent when the holder's access was last judged
    PRIMARY KEY (intent_no, message_position, agent_id)
);
CREATE INDEX claims_agent ON claims (agent_id, intent_no);
CREATE INDEX claims_due ON claims (due_at);
-- The claims that stand, through which the sweep goes piece by piece.
CREATE INDEX claims_standing ON claims (intent_no, message_position, agent_id) WHERE ended = '';

-- +goose Down
DROP TABLE claims;
