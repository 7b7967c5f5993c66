// Package migrations holds the schema: numbered SQL files, one directory for each engine, the same numbers in both.
//
// A file that was in a release is never changed; the next change is the next number. A migration must leave the
// schema usable by the program of the release before, because replicas are replaced one after the other.
package migrations

import "embed"

// Files holds the directories sqlite and postgres.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
