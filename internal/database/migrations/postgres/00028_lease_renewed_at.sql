-- +goose Up

-- When the holder was last heard of in the lease: its grant or its last renewal. NULL for a lease of an earlier version.
ALTER TABLE leases ADD COLUMN renewed_at bigint;

-- +goose Down
ALTER TABLE leases DROP COLUMN renewed_at;
