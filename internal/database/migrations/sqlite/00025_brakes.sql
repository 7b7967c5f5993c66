-- +goose Up

-- How many messages two agents alone may exchange before the loop brake is put on; 0: no brake.
ALTER TABLE channels ADD COLUMN turn_budget integer NOT NULL DEFAULT 20;

-- +goose Down
ALTER TABLE channels DROP COLUMN turn_budget;
