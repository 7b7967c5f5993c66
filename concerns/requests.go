package concerns

import (
	"slices"
	"strconv"
	"time"

	"openintent/internal/database"
)

// This file finds requests: those that are open, of the caller or in an intent that it administers, and those that timed out a while ago.

const (
	// waitsLong is met by an open request q that waits for longer than an ask does by default. An index has these alone (open_requests_age),
	// so that such an ask costs nothing further.
	waitsLong = "(q.expires_at IS NULL OR q.expires_at > q.created_at + 30000000)"
	// remembered is for how long a request that timed out concerns its asker, and mostTimedOut about how many of them a page looks at.
	remembered   = time.Hour
	mostTimedOut = 1_000
	// timedOutBetween is met by a request m that ended without an answer, and whose time was over between two moments.
	timedOutBetween = "m.message_type = 'request' AND m.ended_at IS NOT NULL AND m.expires_at > ? AND m.expires_at <= ?"
)

// openRequests returns the lanes of the open requests that may concern the caller, of those that were sent by a time. They come in the order
// in which they were sent.
func (l *look) openRequests(kind int64, by time.Time) ([]*lane, error) {
	if l.operator() && l.intentNo == 0 {
		return []*lane{l.allOpenRequests(kind, by)}, nil
	}
	intentNos, err := l.intentsOfRequests()
	if err != nil || len(intentNos) == 0 {
		return nil, err
	}
	return []*lane{l.openRequestsIn(kind, by, intentNos)}, nil
}

// intentsOfRequests returns the intents in which requests may concern the caller: for the operator, the one that the call names.
func (l *look) intentsOfRequests() ([]int64, error) {
	if l.operator() {
		return []int64{l.intentNo}, nil
	}
	known, err := l.whose()
	if err != nil {
		return nil, err
	}
	return known.all, nil
}

// allOpenRequests is the operator's lane.
func (l *look) allOpenRequests(kind int64, by time.Time) *lane {
	return seeking(kind, func(after place, limit int) (string, []any) {
		return "SELECT q.created_at, q.intent_no, q.position FROM open_requests q WHERE " + waitsLong + " AND q.created_at <= ?" +
				" AND (q.created_at, q.intent_no, q.position) > (?, ?, ?) ORDER BY q.created_at, q.intent_no, q.position LIMIT ?",
			[]any{database.Micros(by), after.since, after.major, after.minor, limit}
	}, func(row database.Row) (place, *candidate, error) {
		p := place{kind: kind}
		err := row.Scan(&p.since, &p.major, &p.minor)
		return p, &candidate{place: p}, err
	})
}

// mostOfIntents bounds about how many rows are read together in several intents.
const mostOfIntents = 4096

// openRequestsIn is the lane of the open requests in some intents. Within an intent, positions have the order of times. So of each intent the
// next few are read, and the lane goes up to where this was all of each.
func (l *look) openRequestsIn(kind int64, by time.Time, intentNos []int64) *lane {
	return &lane{kind: kind, read: func(after place, limit int) (database.Statement, func() portion) {
		each := min(limit, max(4, mostOfIntents/len(intentNos)))
		in, argument := l.tx.In("h.intent_no", intentNos)
		found, got, through := portion{}, make(map[int64]int), make(map[int64]place)
		statement := database.Statement{
			SQL: "SELECT q.created_at, q.intent_no, q.position, m.sender FROM intent_heads h CROSS JOIN open_requests q CROSS JOIN messages m" +
				" WHERE " + in + " AND q.intent_no = h.intent_no AND " + waitsLong + " AND q.created_at >= ? AND q.created_at <= ?" +
				" AND q.position <= (SELECT max(x.position) FROM (SELECT q.position FROM open_requests q WHERE q.intent_no = h.intent_no" +
				" AND " + waitsLong + " AND q.created_at >= ? AND q.created_at <= ? ORDER BY q.position LIMIT " + strconv.Itoa(each) + ") AS x)" +
				" AND m.intent_no = q.intent_no AND m.position = q.position ORDER BY q.created_at, q.intent_no",
			Args: []any{argument, after.since, database.Micros(by), after.since, database.Micros(by)},
			Scan: func(row database.Row) error {
				p, sender := place{kind: kind}, ""
				err := row.Scan(&p.since, &p.major, &p.minor, &sender)
				found.rows++
				got[p.major]++
				through[p.major] = p
				if p.compare(after) > 0 && l.concerns(p.major, sender) {
					found.candidates = append(found.candidates, candidate{place: p})
				}
				return err
			},
		}
		return statement, func() portion {
			found.ended = true
			for intentNo, last := range through {
				if got[intentNo] == each && (found.ended || last.compare(found.through) < 0) {
					found.ended, found.through = false, last
				}
			}
			for i, c := range found.candidates {
				if !found.ended && c.compare(found.through) > 0 {
					found.candidates = found.candidates[:i]
					break
				}
			}
			return found
		}
	}}
}

// concerns reports whether a request of an intent may concern the caller: it has sent it, or administers the intent.
func (l *look) concerns(intentNo int64, sender string) bool {
	return sender == l.by.Agent || l.operator() || l.known.administered[intentNo]
}

// timedOut returns the lane of the requests that timed out a while ago: of very many, those that did so last.
func (l *look) timedOut(kind int64) ([]*lane, error) {
	between := []any{database.Micros(l.now.Add(-remembered)), database.Micros(l.now)}
	of := " FROM messages m WHERE " + timedOutBetween + " ORDER BY m.expires_at DESC LIMIT " + strconv.Itoa(mostTimedOut)
	args := between
	if !l.operator() || l.intentNo != 0 {
		intentNos, err := l.intentsOfRequests()
		if err != nil || len(intentNos) == 0 {
			return nil, err
		}
		in, argument := l.tx.In("h.intent_no", intentNos)
		of = " FROM intent_heads h CROSS JOIN messages m WHERE " + in + " AND m.intent_no = h.intent_no AND " + timedOutBetween +
			" AND m.expires_at >= (SELECT min(x.expires_at) FROM (SELECT m.expires_at FROM messages m WHERE m.intent_no = h.intent_no AND " +
			timedOutBetween + " ORDER BY m.expires_at DESC LIMIT " + strconv.Itoa(max(4, mostTimedOut/len(intentNos))) + ") AS x)" +
			" LIMIT " + strconv.Itoa(mostOfIntents) // many may have ended at one moment
		args = slices.Concat([]any{argument}, between, between)
	}
	return []*lane{whole(kind, func(found func(candidate)) database.Statement {
		return database.Statement{SQL: "SELECT m.created_at, m.intent_no, m.position, m.sender" + of, Args: args, Scan: func(row database.Row) error {
			c, sender := candidate{}, ""
			err := row.Scan(&c.since, &c.major, &c.minor, &sender)
			if l.concerns(c.major, sender) {
				found(c)
			}
			return err
		}}
	})}, nil
}
