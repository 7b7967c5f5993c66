package intents

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// What an intent holds is known approximately. Each server counts what it stores itself at once, and learns what other servers stored,
// and what was removed, when it counts the intent again in the database. So the bound may be exceeded by what other servers store between
// two counts, and by what is stored before the first one.
const (
	// usageAge is how long a count is good at least. A count that takes long is good for usageShare times as long as it took.
	usageAge   = 5 * time.Second
	usageShare = 100
	// usagePiece is how many rows one statement counts, and usageRun how many intents one run does.
	usagePiece = 10_000
	usageRun   = 200
)

// Usage bounds the bytes that one intent holds. Without a bound it keeps and counts nothing. It is safe for concurrent use.
type Usage struct {
	db    *database.DB
	bound atomic.Int64 // 0: none
	parts []UsagePart
	piece int64 // rows that one statement counts

	mutex   sync.Mutex
	intents *lru.Cache[int64, *intentUsage]
	touched map[int64]struct{} // since they were last counted
}

// intentUsage is what an intent holds, as far as this server knows.
type intentUsage struct {
	counted    int64     // in the database
	added      int64     // by this server since then
	countAgain time.Time // zero before the first count
}

// UsagePart is a table whose rows count for the intent that they belong to. Key is a number that distinguishes an intent's rows; without
// one, all of them are counted in one go. Size is the SQL expression for a row's bytes.
type UsagePart struct{ Table, Key, Size string }

func newUsage(db *database.DB, bound int64, kept int) *Usage {
	u := &Usage{
		db: db, piece: usagePiece, intents: newCache[int64, *intentUsage](kept), touched: make(map[int64]struct{}),
		parts: []UsagePart{{Table: "events", Key: "sequence", Size: "octet_length(payload) + COALESCE(octet_length(proof), 0)"}},
	}
	u.SetBound(bound)
	return u
}

// Usage returns what bounds the intents' bytes.
func (s *Service) Usage() *Usage { return s.usage }

// SetBound changes the bound; 0 means none.
func (u *Usage) SetBound(bytes int64) { u.bound.Store(bytes) }

// Bounded reports whether there is a bound.
func (u *Usage) Bounded() bool { return u.bound.Load() > 0 }

// Include adds a table of a room above. Call it before the service is used.
func (u *Usage) Include(part UsagePart) { u.parts = append(u.parts, part) }

// Room refuses bytes for which an intent has no room any more. What ends something, such as the answer to a request, may use a tenth more
// than the bound. Room keeps no place for the bytes; the caller calls Add once they are stored.
func (u *Usage) Room(intentNo, bytes int64, ends bool) error {
	bound := u.bound.Load()
	if bound == 0 {
		return nil
	}
	most := bound
	if ends {
		most += bound / 10
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	h := u.touch(intentNo)
	if h.counted+h.added+bytes <= most {
		return nil
	}
	return fault.New(fault.Quota, "INTENT_FULL",
		"The intent holds about %d bytes and has no room for %d more, because this server lets an intent hold %d; "+
			"delete messages or channels, lower max_messages, or go on in another intent.", h.counted+h.added, bytes, bound).
		With("quota_bytes", strconv.FormatInt(bound, 10))
}

// Add notes bytes that were stored.
func (u *Usage) Add(intentNo, bytes int64) {
	if !u.Bounded() {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.touch(intentNo).added += bytes
}

// touch returns what is known of an intent, which is counted again when its count is too old.
func (u *Usage) touch(intentNo int64) *intentUsage {
	u.touched[intentNo] = struct{}{}
	h, ok := u.intents.Get(intentNo)
	if !ok {
		h = &intentUsage{}
		u.intents.Add(intentNo, h)
	}
	return h
}

// Recount counts the intents again to which something was added, or for which there was no room, since they were last counted. Each server
// does it for itself.
func (u *Usage) Recount(ctx context.Context) (err error) {
	if !u.Bounded() {
		return nil
	}
	for _, no := range u.due() {
		if failed := u.count(ctx, no); failed != nil {
			err = errors.Join(err, fmt.Errorf("counting what intent %d holds: %w", no, failed))
		}
	}
	return err
}

func (u *Usage) due() (due []int64) {
	now := u.db.Now()
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for no := range u.touched {
		h, known := u.intents.Peek(no)
		if !known {
			delete(u.touched, no)
			continue
		}
		if wait := h.countAgain.Sub(now); (wait <= 0 || wait > time.Hour) && len(due) < usageRun {
			due = append(due, no)
			delete(u.touched, no)
		}
	}
	return due
}

// count counts what an intent holds. What is added meanwhile may count twice until the next count.
func (u *Usage) count(ctx context.Context, intentNo int64) error {
	u.mutex.Lock()
	before, began := u.touch(intentNo).added, u.db.Now()
	u.mutex.Unlock()
	total := int64(0)
	for _, part := range u.parts {
		bytes, err := u.countPart(ctx, part, intentNo)
		if err != nil {
			return err
		}
		total += bytes
	}
	now := u.db.Now()
	u.mutex.Lock()
	defer u.mutex.Unlock()
	h := u.touch(intentNo)
	h.counted, h.added = total, h.added-before
	h.countAgain = now.Add(max(usageAge, min(usageShare*now.Sub(began), time.Hour)))
	if h.added == 0 {
		delete(u.touched, intentNo)
	}
	return nil
}

// countPart counts a table's rows of an intent, some in each statement.
func (u *Usage) countPart(ctx context.Context, part UsagePart, intentNo int64) (bytes int64, err error) {
	if part.Key == "" {
		_, err = u.countRows(ctx, "SELECT COALESCE(CAST(sum("+part.Size+") AS bigint), 0), 0, 0 FROM "+part.Table+" WHERE intent_no = ?",
			&bytes, intentNo)
		return bytes, err
	}
	piece := "SELECT COALESCE(CAST(sum(p.size) AS bigint), 0), count(*), COALESCE(max(p.place), 0) FROM (SELECT " + part.Key +
		" AS place, " + part.Size + " AS size FROM " + part.Table + " WHERE intent_no = ? AND " + part.Key + " > ? ORDER BY " +
		part.Key + " LIMIT ?) AS p"
	for after, more := int64(0), true; more && err == nil; {
		var rows counted
		rows, err = u.countRows(ctx, piece, &bytes, intentNo, after, u.piece)
		after, more = rows.last, rows.number == u.piece
	}
	return bytes, err
}

// counted are the rows that one statement has counted.
type counted struct{ number, last int64 }

func (u *Usage) countRows(ctx context.Context, sql string, bytes *int64, args ...any) (rows counted, err error) {
	err = u.db.ReadHeavy(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: sql, Args: args, Scan: func(row database.Row) error {
			var piece int64
			err := row.Scan(&piece, &rows.number, &rows.last)
			*bytes += piece
			return err
		}})
	})
	return rows, err
}
