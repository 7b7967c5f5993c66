-- +goose Up

-- The index of messages' words (database/words.go). It keeps no texts, and of a word only in which documents it occurs. Its segments
-- are merged by commands of their own, because a merge within a commit could take long.
CREATE VIRTUAL TABLE search_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
);
INSERT INTO search_words (search_words, rank) VALUES ('automerge', 0);
INSERT INTO search_words (search_words, rank) VALUES ('crisismerge', 500);

-- Which message a document is. Documents' numbers rise with the messages' times.
CREATE TABLE search_documents (
    document  integer PRIMARY KEY,
    intent_no integer NOT NULL,
    position  integer NOT NULL
);
CREATE UNIQUE INDEX search_documents_message ON search_documents (intent_no, position);

-- Up to which position each intent's log is in the index.
CREATE TABLE search_cursors (
    intent_no integer PRIMARY KEY,
    position  integer NOT NULL
);

-- Messages that were removed and may still be in the index.
CREATE TABLE search_removals (
    removal_no integer PRIMARY KEY AUTOINCREMENT,
    intent_no  integer NOT NULL,
    positions  blob NOT NULL -- a JSON list
);

-- One row. Each change of the index makes another version. What was stored before complete_through is in the index; 0 means that
-- the index is still being filled.
CREATE TABLE search_state (
    one              integer PRIMARY KEY,
    version          integer NOT NULL,
    complete_through integer NOT NULL
);
INSERT INTO search_state VALUES (1, 0, 0);

-- +goose Down
DROP TABLE search_state;
DROP TABLE search_removals;
DROP TABLE search_cursors;
DROP TABLE search_documents;
DROP TABLE search_words;
