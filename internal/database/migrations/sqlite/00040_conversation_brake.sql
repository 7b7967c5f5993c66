-- +goose Up

-- How often agents in one place may set each other to work before they are braked; 0: no brake, NULL: nobody has said.
ALTER TABLE channels ADD COLUMN conversation_budget integer;

-- What a message does to the conversation of its place: 1, it sets others to work and counts against the budget; 2, a person wrote it, and
-- the count begins anew; 3, it sets others to work and does not count; NULL, nothing.
ALTER TABLE messages ADD COLUMN turn integer;

-- Where agents were braked lately, when the coordinator was told, and up to which position somebody lifted that. A thread is its first
-- message's position, and 0 is the place outside threads.
CREATE TABLE conversation_brakes (
    intent_no       integer NOT NULL,
    channel_no      integer NOT NULL,
    thread_position integer NOT NULL,
    changed_at      integer NOT NULL,
    told_at         integer,
    lifted_through  integer,
    PRIMARY KEY (intent_no, channel_no, thread_position)
) WITHOUT ROWID;
CREATE INDEX conversation_brakes_age ON conversation_brakes (changed_at);

-- Finds what counts in a place.
CREATE INDEX messages_turns ON messages (intent_no, channel_no, COALESCE(thread_position, 0), turn, position) WHERE turn IS NOT NULL;

-- +goose Down
DROP INDEX messages_turns;
DROP TABLE conversation_brakes;
ALTER TABLE messages DROP COLUMN turn;
ALTER TABLE channels DROP COLUMN conversation_budget;
