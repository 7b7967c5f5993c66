-- +goose Up

-- Requests that were evicted and may still be asked for. Their messages are kept until due_at, and so are the evicted
-- responses to them.
CREATE TABLE evicted_requests (
    intent_no integer NOT NULL,
    position  integer NOT NULL,
    due_at    integer NOT NULL, -- when the request and the responses to it are removed
    PRIMARY KEY (intent_no, position)
) WITHOUT ROWID;
CREATE INDEX evicted_requests_due ON evicted_requests (due_at);

-- Evicted messages up to this ordinal are removed, or kept for a request in evicted_requests.
ALTER TABLE channel_heads ADD COLUMN cleared integer NOT NULL DEFAULT 0;

-- What was kept for good before is looked at once more.
INSERT OR IGNORE INTO pending_work SELECT 'eviction', CAST(channel_no AS text), intent_no, 0 FROM channel_heads WHERE floor > 0;

-- +goose Down
ALTER TABLE channel_heads DROP COLUMN cleared;
DROP TABLE evicted_requests;
