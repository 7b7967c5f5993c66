-- +goose Up

-- Finds what is addressed to an agent or a role in the order of inboxes. Requests are found by open_requests.
CREATE INDEX IF NOT EXISTS messages_addressed ON messages (target, created_at, intent_no, position)
    WHERE target IS NOT NULL AND target <> '*' AND message_type <> 'request';

-- Finds what is for everyone in an intent.
CREATE INDEX IF NOT EXISTS messages_everyone ON messages (intent_no, created_at, position) WHERE (target IS NULL OR target = '*');

-- Finds the open requests to an agent or a role, and now in the order of inboxes.
DROP INDEX open_requests_target;
CREATE INDEX open_requests_target ON open_requests (target, created_at, intent_no, position);

-- +goose Down
DROP INDEX open_requests_target;
CREATE INDEX open_requests_target ON open_requests (target);
DROP INDEX messages_everyone;
DROP INDEX messages_addressed;
