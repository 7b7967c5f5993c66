package database

import (
	"math"
	"math/rand/v2"
)

// A database can lose commits: a standby that lags takes over, or a backup is restored. What is stored from then on is
// another history. It begins with what both have in common and goes on with the same counters. A process that lives through
// this remembers the lost history, so a bare count would give two things one number, and the memory of the one would be
// taken for the other.
//
// So whatever is remembered by a number has one that another history does not give again: a count in its high bits, and
// in its low ones randomBits that are drawn for it.

const randomBits = 32

// Further gives a number that follows on another one: greater, and with random bits of its own. Numbers from before there
// were such bits go on with it. After 2^31 of them it begins again.
func Further(number int64) int64 {
	count := number>>randomBits + 1
	if count > math.MaxInt64>>randomBits {
		count = 1
	}
	return count<<randomBits | int64(rand.Uint32())
}

// Tag draws a number that says of a row: it is as its latest change left it, in this history. It is never 0, which stands
// for a row that was never tagged.
func Tag() int64 { return 1 + rand.Int64N(math.MaxInt64) }
