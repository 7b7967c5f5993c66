package database

import (
	"cmp"
	"runtime"
)

// Connections are how many connections a DB opens at most; a zero means the default. In addition, Ping has one and, on
// PostgreSQL, the Lane has one, a Notifier has two, ByLeader has one, and the watch has one to each host that the URL names, if it
// names several.
type Connections struct {
	// Write are for Write; the default is 8. SQLite always has one writer.
	Write int
	// Read are for Read, ReadStatement and ReadFor; the default is 8 on PostgreSQL and 4 on SQLite, and the least is 2. A quarter of them,
	// at least one, is kept from ReadFor.
	Read int
	// Heavy are for ReadHeavy; the default is 2.
	Heavy int
}

const (
	postgresWriters = 8
	postgresReaders = 8
	sqliteReaders   = 4
	heavyReaders    = 2
)

// orDefaults replaces what is zero.
func (c Connections) orDefaults(engine Engine) Connections {
	reads := postgresReaders
	if engine == SQLite {
		reads = sqliteReaders
	}
	return Connections{cmp.Or(c.Write, postgresWriters), max(2, cmp.Or(c.Read, reads)), cmp.Or(c.Heavy, heavyReaders)}
}

// kept is how many of the connections for reading no caller's read takes, so that there is one for what a send has to look up.
func (c Connections) kept() int { return max(1, c.Read/4) }

// lines returns the lines of callers' reads. SQLite computes in this process, so there one processor, at least, is left to senders: all
// callers' reads together take the others, or one if there is only one.
func (c Connections) lines(engine Engine) (reads, heavy *line) {
	most := c.Read - c.kept()
	ofReads, ofHeavy := newPlaces(most), newPlaces(c.Heavy)
	if engine == SQLite {
		ofReads = newPlaces(max(1, runtime.GOMAXPROCS(0)-1))
		ofHeavy = ofReads
	}
	return ofReads.line(most, readsWaiting, readsWaitingEach), ofHeavy.line(c.Heavy, heavyWaiting, heavyWaitingEach)
}
