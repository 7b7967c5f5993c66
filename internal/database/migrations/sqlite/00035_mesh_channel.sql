-- +goose Up

-- The default channel of the mesh belongs to the server, and no more to the agent whose message made it.
UPDATE channels SET created_by = 'system' WHERE name = 'default'
    AND intent_no IN (SELECT intent_no FROM intents WHERE id = 'repomesh' AND created_by = 'system');

-- +goose Down
