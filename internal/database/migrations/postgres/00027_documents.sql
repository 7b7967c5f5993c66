-- +goose Up

-- The messages that are the present contents of channels' documents, by the documents' names.
CREATE TABLE documents (
    intent_no  bigint NOT NULL,
    channel_no bigint NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    position   bigint NOT NULL,
    PRIMARY KEY (intent_no, channel_no, kind)
);
CREATE INDEX documents_position ON documents (intent_no, position);

-- Addresses that people can dictate. A row outlives its channel, so that nobody comes to another channel by an old address.
CREATE TABLE channel_addresses (
    address    text COLLATE "C" PRIMARY KEY,
    letters    bigint NOT NULL, -- how many letters it has
    intent_no  bigint NOT NULL,
    channel_no bigint NOT NULL
);
CREATE INDEX channel_addresses_letters ON channel_addresses (letters);
ALTER TABLE channels ADD COLUMN address text COLLATE "C"; -- NULL: none

-- +goose Down
ALTER TABLE channels DROP COLUMN address;
DROP TABLE channel_addresses;
DROP TABLE documents;
