-- +goose Up

-- What a list of intents begins with: those that everybody may read, and those of a status, in the order in which they were made. An
-- index has the number of the intent behind its columns, as most indexes of agents' intents do.
CREATE INDEX IF NOT EXISTS intents_policy ON intents (default_policy);
CREATE INDEX IF NOT EXISTS intent_heads_status ON intent_heads (status);

-- The intents of a coordinator, now in that order.
DROP INDEX coordinators_agent;
CREATE INDEX coordinators_agent ON coordinators (agent_id, intent_no);

-- +goose Down
DROP INDEX coordinators_agent;
CREATE INDEX coordinators_agent ON coordinators (agent_id);
DROP INDEX intent_heads_status;
DROP INDEX intents_policy;
