// Package migrations holds the schema: numbered SQL files, with one directory per engine and the same numbers in both.
//
// A file that was in a release never changes; the next change gets the next number. Replicas are replaced one after the other, and
// a release may be rolled back, so the programs of the release before still use the schema after a migration. A change that they
// cannot bear comes one release after the last program that needs what it removes (docs/upgrading.md). A test refuses statements that
// break this rule.
package migrations

import (
	"embed"
	"io/fs"
)

// Schema is the migrations, and the releases with which they came, oldest first.
type Schema struct {
	// Files contains the directories sqlite and postgres.
	Files    fs.FS
	Releases []Release
}

// Release is a release of the program.
type Release struct {
	// Name is the first two numbers of its version. The third one never changes the schema.
	Name string
	// Newest is the number of the newest migration that came with it or before it; 0 for the release that is under way, to which all
	// further migrations belong.
	Newest int64
}

// Current is the schema of this program. Whoever cuts a release gives its last entry a number, and adds one for the next release.
var Current = Schema{
	Files: files,
	Releases: []Release{
		{Name: "0.1", Newest: 13},
		{Name: "0.2", Newest: 38},
		{Name: "0.3"},
	},
}

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS
