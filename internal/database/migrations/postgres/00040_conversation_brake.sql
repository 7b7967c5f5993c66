-- +goose NO TRANSACTION
-- +goose Up

-- How often agents in one place may set each other to work before they are braked; 0: no brake, NULL: nobody has said.
ALTER TABLE channels ADD COLUMN IF NOT EXISTS conversation_budget bigint;

-- What a message does to the conversation of its place: 1, it sets others to work and counts against the budget; 2, a person wrote it, and
-- the count begins anew; 3, it sets others to work and does not count; NULL, nothing.
ALTER TABLE messages ADD COLUMN IF NOT EXISTS turn bigint;

-- Where agents were braked lately, when the coordinator was told, and up to which position somebody lifted that. A thread is its first
-- message's position, and 0 is the place outside threads.
CREATE TABLE IF NOT EXISTS conversation_brakes (
    intent_no       bigint NOT NULL,
    channel_no      bigint NOT NULL,
    thread_position bigint NOT NULL,
    changed_at      bigint NOT NULL,
    told_at         bigint,
    lifted_through  bigint,
    PRIMARY KEY (intent_no, channel_no, thread_position)
);

-- Indexes are made without keeping anybody from the tables. PostgreSQL leaves one behind that it could not finish.
SET lock_timeout = '3min';
DROP INDEX CONCURRENTLY IF EXISTS conversation_brakes_age;
CREATE INDEX CONCURRENTLY conversation_brakes_age ON conversation_brakes (changed_at);

-- Finds what counts in a place.
DROP INDEX CONCURRENTLY IF EXISTS messages_turns;
CREATE INDEX CONCURRENTLY messages_turns ON messages (intent_no, channel_no, COALESCE(thread_position, 0), turn, position)
    WHERE turn IS NOT NULL;
RESET lock_timeout;

-- +goose Down
DROP INDEX messages_turns;
DROP TABLE conversation_brakes;
ALTER TABLE messages DROP COLUMN turn;
ALTER TABLE channels DROP COLUMN conversation_budget;
