-- +goose NO TRANSACTION
-- +goose Up

-- Finds the intents of a title, which may be longer. The index is made without keeping anybody from the table. PostgreSQL leaves one behind
-- that it could not finish.
SET lock_timeout = '3min';
DROP INDEX CONCURRENTLY IF EXISTS intents_title;
CREATE INDEX CONCURRENTLY intents_title ON intents (substr(title, 1, 200), intent_no);
RESET lock_timeout;

-- +goose Down
DROP INDEX intents_title;
