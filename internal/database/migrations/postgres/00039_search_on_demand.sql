-- +goose Up

-- Who keeps an intent in the index of messages' words by searching there: a key, with the time of its search. A search writes at most
-- once an hour.
CREATE TABLE search_keepers (
    intent_no   bigint NOT NULL,
    key_id      text NOT NULL,
    searched_at bigint NOT NULL,
    PRIMARY KEY (intent_no, key_id)
);
CREATE INDEX search_keepers_key ON search_keepers (key_id, searched_at);
CREATE INDEX search_keepers_age ON search_keepers (searched_at);

-- What the index lacks of a log before the log's cursor, because it takes in the newest first: the entries after low, up to high.
CREATE TABLE search_holes (
    intent_no bigint PRIMARY KEY,
    low       bigint NOT NULL,
    high      bigint NOT NULL
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE search_holes, search_keepers;
