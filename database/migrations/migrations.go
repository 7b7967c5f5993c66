// Package migrations holds the schema: numbered SQL files, with one directory per engine and the same numbers in both.
//
// A file that was in a release never changes; the next change gets the next number. After a migration, the program of the
// release before must still be able to use the schema, because replicas are replaced one after the other.
package migrations

import "embed"

// Files contains the directories sqlite and postgres.
//
//go:embed sqlite/*.sql postgres/*.sql
var Files embed.FS
