package intents

import (
	"context"
	"math"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

const (
	defaultIntentPage = 50
	// mostCounted is how far a list counts.
	mostCounted = 10_000
	// lookedAtOnce is how many candidates one statement looks at.
	lookedAtOnce = 1_000
)

// ListIntents returns a page of the intents that the caller may read, and their number.
func (s *Service) ListIntents(
	ctx context.Context, req *openintentv1.ListIntentsRequest,
) (*openintentv1.ListIntentsResponse, error) {
	from := listBegin(req.GetOrder() == "desc")
	page, err := pages.Begin("intents", req, defaultIntentPage, &from.number)
	if err := firstOf(err, page.MaySkip(req.GetOffset())); err != nil {
		return nil, err
	}
	var status Status
	if req.Status != nil {
		status = statusWords[req.GetStatus()]
	}
	var l *intentList
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		l = &intentList{tx: tx, reader: s.readerFor(c, tx.Now()), status: status, looking: s.looking}
		return l.read(page, from, int(req.GetOffset()))
	})
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListIntentsResponse{Total: int64(l.total), TotalBounded: l.totalBounded}
	messages := make([]*openintentv1.Intent, len(l.intents))
	for i, intent := range l.intents {
		if messages[i], err = intentMessage(intent); err != nil {
			return nil, err
		}
	}
	response.Intents, response.NextCursor = pages.Close(page, messages, func(i int) []any { return []any{l.intents[i].No} })
	if response.NextCursor == nil && l.bounded {
		cursor := pages.Cursor("intents", l.through)
		response.NextCursor, response.Bounded = &cursor, true
	}
	return response, nil
}

// listPlace is a place in a list of intents: right after an intent's number.
type listPlace struct {
	number     int64
	descending bool
}

func listBegin(descending bool) listPlace {
	if descending {
		return listPlace{number: math.MaxInt64, descending: true}
	}
	return listPlace{}
}

// follows returns the SQL condition that a number follows the place, which is the condition's argument.
func (p listPlace) follows(column string) string {
	if p.descending {
		return column + " < ?"
	}
	return column + " > ?"
}

// by returns the SQL for the order of a column.
func (p listPlace) by(column string) string {
	if p.descending {
		return column + " DESC"
	}
	return column
}

// candidates are intents among which a list's lie.
type candidates struct {
	// numbers returns the query of the numbers of at most so many that follow a place, in order. An index has them so.
	numbers func(tx *database.Tx, from listPlace, rows int) (query string, args []any)
	// wanted is the SQL condition that the list has a candidate: one on the intent i, its head h, or both, which are joined to the
	// candidate's number. It begins with AND; if it is empty, the list has all candidates.
	wanted, join string
	args         []any
}

const (
	joinIntent = " JOIN intents AS i ON i.intent_no = n.intent_no"
	joinHead   = " JOIN intent_heads AS h ON h.intent_no = n.intent_no"
)

// intentList is a page of a list of intents while it is read.
type intentList struct {
	tx      *database.Tx
	reader  reader
	status  Status
	looking looking

	intents      []*Intent
	total        int
	totalBounded bool
	// bounded is true if the page ended because it had looked at enough candidates, the last of them being through.
	bounded bool
	through int64
}

// looking is how much a list looks at: at most candidates for a page, or for a count.
type looking struct{ candidates, atOnce int }

func (l *intentList) read(page *pages.Page, from listPlace, offset int) error {
	among, err := l.choose()
	if err != nil {
		return err
	}
	if err := l.count(among); err != nil {
		return err
	}
	numbers, err := l.find(among, from, offset, page.Limit()+1)
	if err != nil || len(numbers) == 0 {
		return err
	}
	in, argument := l.tx.In("i.intent_no", numbers)
	selection := " WHERE " + in + " ORDER BY " + from.by("i.intent_no")
	rows, err := page.Fit(l.tx, intentSize, intentTables+selection, argument)
	if err != nil {
		return err
	}
	l.intents, err = selectIntents(l.tx, selection+" LIMIT ?", argument, rows)
	return err
}

// choose returns the candidates to look at. If the list is about a status, these are the intents of that status, or those that the reader
// may read, whichever are few; if neither are, those of the status.
func (l *intentList) choose() (candidates, error) {
	rights, args := l.reader.mayRead()
	ofStatus := candidates{numbers: l.withStatus, wanted: rights, join: joinIntent, args: args}
	readable := candidates{numbers: l.reader.readable}
	if l.status != "" {
		readable.wanted, readable.join, readable.args = " AND h.status = ?", joinHead, []any{string(l.status)}
	}
	switch {
	case l.reader.operator && l.status == "":
		return candidates{numbers: allIntents}, nil
	case l.reader.operator:
		return ofStatus, nil
	case l.reader.scope != nil:
		return candidates{
			numbers: l.reader.scoped, wanted: rights + readable.wanted, join: joinIntent + readable.join, args: append(args, readable.args...),
		}, nil
	case l.status == "":
		return readable, nil
	}
	var count int
	query, of := l.withStatus(l.tx, listPlace{}, l.looking.candidates+1)
	err := l.tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM ("+query+") AS n", of...))
	if err != nil || count <= l.looking.candidates {
		return ofStatus, err
	}
	query, of = l.reader.countReadable(l.looking.candidates + 1)
	err = l.tx.Pipeline(database.ReadValue(&count, query, of...))
	if err != nil || count <= l.looking.candidates {
		return readable, err
	}
	return ofStatus, nil
}

func allIntents(tx *database.Tx, from listPlace, rows int) (query string, args []any) {
	return way{table: "intents"}.numbers(tx, "", from, rows)
}

func (l *intentList) withStatus(tx *database.Tx, from listPlace, rows int) (query string, args []any) {
	return way{table: "intent_heads", column: "w.status"}.numbers(tx, string(l.status), from, rows)
}

// count counts the list, as far as there are few candidates.
func (l *intentList) count(among candidates) error {
	query, args := among.numbers(l.tx, listPlace{}, l.looking.candidates+1)
	count := "SELECT count(*), count(*) FROM (" + query + ") AS n"
	if among.wanted != "" {
		count = "SELECT count(*), count(CASE WHEN " + strings.TrimPrefix(among.wanted, " AND ") + " THEN 1 END) FROM (" + query + ") AS n" + among.join
		args = append(append([]any{}, among.args...), args...)
	}
	return l.tx.Pipeline(database.Statement{SQL: count, Args: args, Scan: func(row database.Row) error {
		var looked int
		err := row.Scan(&looked, &l.total)
		l.totalBounded, l.total = looked > l.looking.candidates, min(l.total, l.looking.candidates)
		return err
	}})
}

// find returns the numbers of the page's intents, at most limit. It looks at a bounded number of candidates after those that the offset
// skips.
func (l *intentList) find(among candidates, from listPlace, offset, limit int) (numbers []int64, err error) {
	if among.wanted == "" {
		query, args := among.numbers(l.tx, from, offset+limit)
		err = l.tx.Pipeline(database.ReadValues(&numbers,
			"SELECT n.intent_no FROM ("+query+") AS n ORDER BY "+from.by("n.intent_no")+" LIMIT ? OFFSET ?", append(args, limit, offset)...))
		return numbers, err
	}
	for left := l.looking.candidates; ; {
		rows := min(left, l.looking.atOnce)
		var looked []int64
		query, args := among.numbers(l.tx, from, rows)
		if err := l.tx.Pipeline(database.ReadValues(&looked, query, args...)); err != nil || len(looked) == 0 {
			return numbers, err
		}
		in, argument := l.tx.In("i.intent_no", looked)
		var found []int64
		if err := l.tx.Pipeline(database.ReadValues(&found, "SELECT i.intent_no"+intentTables+" WHERE "+in+among.wanted+
			" ORDER BY "+from.by("i.intent_no"), append([]any{argument}, among.args...)...)); err != nil {
			return nil, err
		}
		from.number = looked[len(looked)-1]
		if offset > len(found) {
			offset -= len(found)
			continue
		}
		offset, numbers, left = 0, append(numbers, found[offset:]...), left-len(looked)
		if len(numbers) >= limit {
			return numbers[:limit], nil
		}
		if len(looked) < rows || left == 0 {
			l.bounded, l.through = len(looked) == rows, from.number
			return numbers, nil
		}
	}
}
