-- +goose Up

-- Who may be reached in which intent beyond the lists kept elsewhere (creators, assignments, access, members): agents and
-- roles that were addressed there, and agents that have sent there.
CREATE TABLE audiences (
    name      text NOT NULL, -- an agent or role:<role_id>
    intent_no integer NOT NULL,
    sent      boolean NOT NULL, -- the agent has sent there; otherwise the name was addressed
    PRIMARY KEY (name, intent_no, sent)
) WITHOUT ROWID;
INSERT INTO audiences SELECT DISTINCT sender, intent_no, TRUE FROM messages WHERE sender <> 'system';
INSERT INTO audiences SELECT DISTINCT target, intent_no, FALSE FROM messages WHERE target IS NOT NULL AND target <> '*';
CREATE INDEX audiences_intent ON audiences (intent_no);

-- When all messages of an ended intent were removed: nothing of it reaches anybody any more.
ALTER TABLE intent_heads ADD COLUMN purged_at integer;

-- Where else an agent may be reached.
CREATE INDEX intents_creator ON intents (created_by);
CREATE INDEX coordinators_agent ON coordinators (agent_id);

-- When a message to an agent or a role was first handed to a transport of a recipient's.
CREATE TABLE offers (
    intent_no  integer NOT NULL,
    position   integer NOT NULL,
    agent_id   text NOT NULL,
    offered_at integer NOT NULL,
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

-- How far a channel's messages to everyone were handed to an agent's transports: one row however many they are.
CREATE TABLE channel_offers (
    intent_no  integer NOT NULL,
    channel_no integer NOT NULL,
    agent_id   text NOT NULL,
    ordinal    integer NOT NULL,
    offered_at integer NOT NULL,
    PRIMARY KEY (intent_no, channel_no, agent_id)
) WITHOUT ROWID;

-- Messages that a subscription of a recipient's gave up.
CREATE TABLE dead_letters (
    intent_no integer NOT NULL,
    position  integer NOT NULL,
    agent_id  text NOT NULL,
    dead_at   integer NOT NULL,
    reason    text NOT NULL,
    PRIMARY KEY (intent_no, position, agent_id)
) WITHOUT ROWID;

-- +goose Down
DROP INDEX coordinators_agent;
DROP INDEX intents_creator;
ALTER TABLE intent_heads DROP COLUMN purged_at;
DROP TABLE dead_letters;
DROP TABLE channel_offers;
DROP TABLE offers;
DROP TABLE audiences;
