package pages

import (
	"google.golang.org/protobuf/proto"

	"openintent/internal/database"
	"openintent/internal/fault"
)

const (
	// MaxEntries is how many entries a page has at most.
	MaxEntries = 1000
	// MaxBytes bounds a page's size, so that the page fits in one message to a gRPC client.
	MaxBytes = 3 << 20
)

// Request is the part of a list's request that describes the page. A limit of 0 or an empty cursor means that the request
// names none.
type Request interface {
	GetLimit() int32
	GetCursor() string
}

// Page is one page of a list while it is being filled.
type Page struct {
	list      string
	limit     int
	offset    int
	continued bool
	piece     int // the most rows that one Fit looks at; 0 means no bound

	entries, bytes int
	full           bool // in bytes
	more           bool
}

// Begin begins the page that the request describes; otherwise is the limit if the request has none. The parts of the key are
// pointers to int64 and string. Begin reads the cursor into them, and leaves them as they are if there is no cursor.
func Begin(list string, req Request, otherwise int, key ...any) (*Page, error) {
	p := &Page{list: list, limit: otherwise, continued: req.GetCursor() != ""}
	if req.GetLimit() > 0 {
		p.limit = min(int(req.GetLimit()), MaxEntries)
	}
	if !p.continued {
		return p, nil
	}
	return p, Parse(list, req.GetCursor(), key...)
}

// Of begins the first page of a list that no request asked for.
func Of(list string, limit int) *Page { return &Page{list: list, limit: limit} }

// Skip makes Fit begin after the given number of entries, for requests with an offset. Such a request cannot have a cursor
// as well.
func (p *Page) Skip(offset int32) error {
	p.offset = int(offset)
	return p.MaySkip(offset)
}

// MaySkip refuses an offset beside a cursor, for lists that skip entries themselves.
func (p *Page) MaySkip(offset int32) error {
	if offset > 0 && p.continued {
		return fault.BadField("offset", "a cursor says where the page begins; send only that.")
	}
	return nil
}

// Limit returns how many entries the page has at most.
func (p *Page) Limit() int { return p.limit }

// InPieces makes Fit look at no more than the given number of rows per call, for rows whose size is costly to compute.
func (p *Page) InPieces(rows int) { p.piece = rows }

// Fit returns how many of the selection's rows go on the page, in addition to those that earlier calls accepted. The
// selection is the part of a SELECT after its columns, in the list's order and without LIMIT. The size is an SQL expression
// for a row's size in bytes.
func (p *Page) Fit(tx *database.Tx, size, selection string, args ...any) (rows int, err error) {
	room := p.limit - p.entries
	if p.piece > 0 {
		room = min(room, p.piece)
	}
	p.more = false
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT " + size + selection + " LIMIT ? OFFSET ?",
		Args: append(args[:len(args):len(args)], room+1, p.offset),
		Scan: func(row database.Row) error {
			var bytes int
			if err := row.Scan(&bytes); err != nil {
				return err
			}
			if p.entries+rows > 0 && p.bytes+bytes > MaxBytes {
				p.full = true
			}
			if p.more = p.full || rows == room; !p.more {
				rows++
				p.bytes += bytes
			}
			return nil
		},
	})
	p.entries += rows
	return rows, err
}

// More reports whether more rows follow those that the last Fit accepted.
func (p *Page) More() bool { return p.more }

// Full reports whether the page has no room for another row.
func (p *Page) Full() bool { return p.full || p.entries == p.limit }

// Close ends the page. It cuts off the entries that would make the answer too long or too large, and returns the cursor of
// the next page, or nil at the end of the list. The function key returns the key of the entry at an index.
func Close[M proto.Message](p *Page, entries []M, key func(index int) []any) (page []M, next *string) {
	total := 0
	for i, entry := range entries {
		total += proto.Size(entry)
		if i == p.limit || i > 0 && total > MaxBytes {
			entries, p.more = entries[:i], true
			break
		}
	}
	if !p.more || len(entries) == 0 {
		return entries, nil
	}
	cursor := Cursor(p.list, key(len(entries)-1)...)
	return entries, &cursor
}
