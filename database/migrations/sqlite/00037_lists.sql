-- +goose Up

-- What a list of intents begins with: those that everybody may read, and those of a status, in the order in which they were made. An
-- index has the number of the intent behind its columns. The agents' intents have indexes that do.
CREATE INDEX IF NOT EXISTS intents_without_list ON intents (intent_no) WHERE default_policy IS NULL;
CREATE INDEX IF NOT EXISTS intents_open ON intents (intent_no) WHERE default_policy = 'open';
CREATE INDEX IF NOT EXISTS intent_heads_status ON intent_heads (status);

-- +goose Down
DROP INDEX intent_heads_status;
DROP INDEX intents_open;
DROP INDEX intents_without_list;
