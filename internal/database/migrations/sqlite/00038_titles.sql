-- +goose Up

-- Finds the intents of a title, which may be longer.
CREATE INDEX intents_title ON intents (substr(title, 1, 200));

-- +goose Down
DROP INDEX intents_title;
