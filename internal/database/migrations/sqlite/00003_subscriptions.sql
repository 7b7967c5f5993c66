-- +goose Up

-- Durable subscriptions, and each agent's own log (named `default`), which its streams share.
CREATE TABLE subscriptions (
    subscription_no     integer PRIMARY KEY AUTOINCREMENT,
    id                  text NOT NULL,
    subscriber_id       text NOT NULL,
    name                text NOT NULL,
    intent_no           integer, -- NULL: whatever reaches the subscriber
    channel_no          integer, -- NULL: the whole intent
    intent_id           text,
    channel_id          text,
    event_types         blob NOT NULL, -- a JSON list; empty: all
    message_type        text,
    correlation_id      text,
    webhook_url         text,
    use_endpoint        boolean NOT NULL,
    secret              text, -- signs what is posted
    acknowledge_seconds integer NOT NULL,
    max_attempts        integer NOT NULL,
    created_at          integer NOT NULL,
    expires_at          integer,
    ended_at            integer, -- it delivers no more: the subscriber departed, or the sweep has seen that it expired
    cleared             boolean NOT NULL, -- what an ended one had still to deliver is removed
    deleted_at          integer, -- nobody sees it any more; the sweep removes what is left
    last_number         integer NOT NULL, -- the newest delivery's number
    offered_through     integer NOT NULL, -- the highest number that was ever delivered or passed over
    consumer            text, -- the stream or the poster to which deliveries go at present
    consumer_until      integer, -- until when it has that to itself, unless it says again that it lives
    last_error          text, -- why the last post failed
    post_at             integer -- when there is next something to post; NULL: nothing waits
);
CREATE UNIQUE INDEX subscriptions_id ON subscriptions (id);
CREATE UNIQUE INDEX subscriptions_name ON subscriptions (subscriber_id, name) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_expiry ON subscriptions (expires_at) WHERE expires_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX subscriptions_ended ON subscriptions (subscription_no) WHERE ended_at IS NOT NULL AND NOT cleared;
CREATE INDEX subscriptions_deleted ON subscriptions (subscription_no) WHERE deleted_at IS NOT NULL;
CREATE INDEX subscriptions_post_at ON subscriptions (post_at) WHERE post_at IS NOT NULL;
CREATE INDEX subscriptions_posted ON subscriptions (subscription_no)
    WHERE (webhook_url IS NOT NULL OR use_endpoint) AND ended_at IS NULL AND deleted_at IS NULL;

-- How far each intent's log was gathered into a subscription; from the beginning where there is no row.
CREATE TABLE subscription_positions (
    subscription_no integer NOT NULL,
    intent_no       integer NOT NULL,
    position        integer NOT NULL,
    PRIMARY KEY (subscription_no, intent_no)
) WITHOUT ROWID;
CREATE INDEX subscription_positions_intent ON subscription_positions (intent_no);

-- What was gathered and is not done with: places in intents' logs, by their number. Acknowledged ones are deleted.
CREATE TABLE subscription_deliveries (
    subscription_no integer NOT NULL,
    number          integer NOT NULL,
    intent_no       integer NOT NULL,
    position        integer NOT NULL,
    channel_no      integer, -- a message's
    gathered_at     integer NOT NULL,
    attempts        integer NOT NULL,
    due_at          integer, -- when it is delivered, or delivered again; NULL in an agent's own log
    given_up_at     integer, -- after the last attempt: when it becomes a dead letter unless it is acknowledged
    dead_at         integer,
    reason          text, -- why it was given up
    PRIMARY KEY (subscription_no, number)
) WITHOUT ROWID;
CREATE INDEX subscription_deliveries_live ON subscription_deliveries (subscription_no, number)
    WHERE due_at IS NOT NULL AND dead_at IS NULL;
CREATE INDEX subscription_deliveries_given_up ON subscription_deliveries (given_up_at)
    WHERE given_up_at IS NOT NULL AND dead_at IS NULL;
CREATE INDEX subscription_deliveries_dead ON subscription_deliveries (subscription_no, number) WHERE dead_at IS NOT NULL;
CREATE INDEX subscription_deliveries_dead_place ON subscription_deliveries (intent_no, position) WHERE dead_at IS NOT NULL;
CREATE INDEX subscription_deliveries_log_age ON subscription_deliveries (gathered_at) WHERE due_at IS NULL;

-- In which span of time the head last changed. The survey of agents' streams reads those that changed lately; the time itself
-- in an index would make each update of a head an update of its indexes too.
ALTER TABLE intent_heads ADD COLUMN moved_in integer NOT NULL DEFAULT 0;
CREATE INDEX intent_heads_moved ON intent_heads (moved_in);

-- +goose Down
DROP INDEX intent_heads_moved;
ALTER TABLE intent_heads DROP COLUMN moved_in;
DROP TABLE subscription_deliveries;
DROP TABLE subscription_positions;
DROP TABLE subscriptions;
