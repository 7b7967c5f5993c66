-- +goose Up

-- What an agent says that it does, and why it counts as unhealthy or dead.
ALTER TABLE agents ADD COLUMN status_note text;
ALTER TABLE agents ADD COLUMN silent_since bigint;     -- NULL unless silence made it unhealthy or dead
ALTER TABLE agents ADD COLUMN presumed_dead_at bigint; -- NULL unless it is dead
ALTER TABLE agents ADD COLUMN presence_reason text;    -- NULL unless it is unhealthy or dead

-- The server's own channel has this name from now on.
UPDATE channels SET name = '_system-' || id WHERE name = '_system';

-- +goose Down
ALTER TABLE agents DROP COLUMN presence_reason;
ALTER TABLE agents DROP COLUMN presumed_dead_at;
ALTER TABLE agents DROP COLUMN silent_since;
ALTER TABLE agents DROP COLUMN status_note;
