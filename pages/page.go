package pages

import (
	"google.golang.org/protobuf/proto"

	"openintent/database"
	"openintent/fault"
)

const (
	// MaxEntries is how many entries a page has at most.
	MaxEntries = 1000
	// MaxBytes is where a page ends before its next entry, so that it fits one message of a gRPC client.
	MaxBytes = 3 << 20
)

// Request is what a list's request says about its page; a limit of 0 and an empty cursor are absent.
type Request interface {
	GetLimit() int32
	GetCursor() string
}

// Page is one page of a list under way.
type Page struct {
	list      string
	limit     int
	offset    int
	continued bool
	piece     int // 0: all at once

	entries, bytes int
	full           bool // in bytes
	more           bool
}

// Begin begins a page as the request has it, with otherwise as the limit of one that has none. The key, pointers to int64
// and string, gets the place that the cursor names, and stays as it is without a cursor.
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

// Skip lets Fit begin so many entries later, for requests that have an offset; those cannot have a cursor as well.
func (p *Page) Skip(offset int32) error {
	if offset > 0 && p.continued {
		return fault.BadField("offset", "a cursor says where the page begins; send only that.")
	}
	p.offset = int(offset)
	return nil
}

// Limit is how many entries the page has at most.
func (p *Page) Limit() int { return p.limit }

// InPieces lets Fit look at so many rows at a time, for rows whose size is costly to know.
func (p *Page) InPieces(rows int) { p.piece = rows }

// Fit tells how many of the rows of a selection go on the page, after those that it took earlier. The selection is what
// follows a SELECT's columns, in the list's order and without LIMIT; the size is an expression that gives a row's bytes.
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

// More tells whether rows follow on those that fitted last.
func (p *Page) More() bool { return p.more }

// Full tells whether no further row goes on the page.
func (p *Page) Full() bool { return p.full || p.entries == p.limit }

// Close ends the page: it cuts what would make the answer too long or too large, and gives the cursor to go on with, which is nil at the
// end of the list. The key is that of the entry with the index.
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
