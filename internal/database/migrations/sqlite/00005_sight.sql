-- +goose Up

-- Since when an agent holds its role: what was sent to the role before is not for it, but for open requests. In the intents
-- of role_ahead (JSON: microseconds by intent_no), whose time was ahead of the clock then, it holds the role from a later time
-- on. Of those that hold one already it is known no better than by their registration.
ALTER TABLE agents ADD COLUMN role_since integer;
ALTER TABLE agents ADD COLUMN role_ahead text;
UPDATE agents SET role_since = registered_at WHERE role_id IS NOT NULL;

-- Messages up to opened_through were sent before the channel was last opened to the intent's agents.
ALTER TABLE channels ADD COLUMN opened_through integer NOT NULL DEFAULT 0;
-- What members see that a manager adds: all, or what is sent from then on (from_join).
ALTER TABLE channels ADD COLUMN history text NOT NULL DEFAULT 'all';
-- How many messages the channel had when the member was added.
ALTER TABLE members ADD COLUMN joined_after integer NOT NULL DEFAULT 0;

-- Who was a member when a channel was last opened: what was sent before stays with these.
CREATE TABLE insiders (
    intent_no  integer NOT NULL,
    channel_no integer NOT NULL,
    agent_id   text NOT NULL,
    added_at   integer NOT NULL, -- to the list of members
    seen_after integer NOT NULL, -- messages up to this ordinal were not the member's to see
    PRIMARY KEY (intent_no, channel_no, agent_id)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE insiders;
ALTER TABLE members DROP COLUMN joined_after;
ALTER TABLE channels DROP COLUMN history;
ALTER TABLE channels DROP COLUMN opened_through;
ALTER TABLE agents DROP COLUMN role_ahead;
ALTER TABLE agents DROP COLUMN role_since;
