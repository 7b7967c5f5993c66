-- +goose Up

-- What a subscription lets wait: messages until their sender pauses, and for how long those that are gathered into a digest; 0: none.
ALTER TABLE subscriptions ADD COLUMN compose boolean NOT NULL DEFAULT FALSE;
ALTER TABLE subscriptions ADD COLUMN digest_seconds bigint NOT NULL DEFAULT 0;
ALTER TABLE subscriptions ADD COLUMN max_chars bigint NOT NULL DEFAULT 0; -- of a digest
-- The messages for which one delivery stands, as JSON; empty for a delivery of one place.
ALTER TABLE subscription_deliveries ADD COLUMN sources text COLLATE "C" NOT NULL DEFAULT '';

-- Messages that were gathered and wait for a delivery together with others.
CREATE TABLE subscription_waiting (
    subscription_no bigint NOT NULL,
    intent_no       bigint NOT NULL,
    position        bigint NOT NULL,
    channel_no      bigint NOT NULL,
    thread_position bigint NOT NULL, -- of the thread's first message, if the message is a reply; otherwise 0
    sender          text COLLATE "C" NOT NULL,
    digest          boolean NOT NULL, -- whether it waits for a digest
    size            bigint NOT NULL, -- in bytes
    sent_at         bigint NOT NULL,
    PRIMARY KEY (subscription_no, intent_no, position)
);

-- +goose Down
DROP TABLE subscription_waiting;
ALTER TABLE subscription_deliveries DROP COLUMN sources;
ALTER TABLE subscriptions DROP COLUMN max_chars;
ALTER TABLE subscriptions DROP COLUMN digest_seconds;
ALTER TABLE subscriptions DROP COLUMN compose;
