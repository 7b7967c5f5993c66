-- +goose Up

-- To which address a code was sent, as a digest: so that nobody has many sent to the same, under whatever names, keys and contacts.
ALTER TABLE contact_codes ADD COLUMN address_digest blob;
CREATE INDEX contact_codes_address ON contact_codes (address_digest, sent_at);

-- +goose Down
DROP INDEX contact_codes_address;
ALTER TABLE contact_codes DROP COLUMN address_digest;
