-- +goose Up

-- What a subscription lets wait: messages until their sender pauses, and for how long those that are gathered into a digest; 0: none.
ALTER TABLE subscriptions ADD COLUMN compose boolean NOT NULL DEFAULT FALSE;
ALTER TABLE subscriptions ADD COLUMN digest_seconds integer NOT NULL DEFAULT 0;
ALTER TABLE subscriptions ADD COLUMN max_chars integer NOT NULL DEFAULT 0; -- of a digest
-- The messages for which one delivery stands, as JSON; empty for a delivery of one place.
ALTER TABLE subscription_deliveries ADD COLUMN sources text NOT NULL DEFAULT '';

-- Messages that were gathered and wait for a delivery together with others.
CREATE TABLE subscription_waiting (
    subscription_no integer NOT NULL,
    intent_no       integer NOT NULL,
    position        integer NOT NULL,
    channel_no      integer NOT NULL,
    thread_position integer NOT NULL, -- of the thread's first message, if the message is a reply; otherwise 0
    sender          text NOT NULL,
    digest          boolean NOT NULL, -- whether it waits for a digest
    size            integer NOT NULL, -- in bytes
    sent_at         integer NOT NULL,
    PRIMARY KEY (subscription_no, intent_no, position)
);

-- +goose Down
DROP TABLE subscription_waiting;
ALTER TABLE subscription_deliveries DROP COLUMN sources;
ALTER TABLE subscriptions DROP COLUMN max_chars;
ALTER TABLE subscriptions DROP COLUMN digest_seconds;
ALTER TABLE subscriptions DROP COLUMN compose;
