-- +goose Up

-- Requests that were evicted and may still be asked for. Their messages are kept until due_at, and so are the evicted
-- responses to them.
CREATE TABLE evicted_requests (
    intent_no bigint NOT NULL,
    position  bigint NOT NULL,
    due_at    bigint NOT NULL, -- when the request and the responses to it are removed
    PRIMARY KEY (intent_no, position)
);
CREATE INDEX evicted_requests_due ON evicted_requests (due_at);

-- As with what belongs to intents before.
ALTER TABLE evicted_requests ALTER COLUMN intent_no SET STATISTICS 0;

-- Evicted messages up to this ordinal are removed, or kept for a request in evicted_requests.
ALTER TABLE channel_heads ADD COLUMN cleared bigint NOT NULL DEFAULT 0;

-- What was kept for good before is looked at once more.
INSERT INTO pending_work SELECT 'eviction', channel_no::text, intent_no, 0 FROM channel_heads WHERE floor > 0
ON CONFLICT DO NOTHING;

-- +goose Down
ALTER TABLE channel_heads DROP COLUMN cleared;
DROP TABLE evicted_requests;
