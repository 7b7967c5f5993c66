// Package pages cuts lists into pages: how many entries a page has, how large it is, and where the next one begins.
//
// # Model
//
// A list is a handful of statements over rows in an order that never changes under them. A page begins after the key of the
// last entry of the page before, so what is added or removed meanwhile neither repeats nor hides an entry; nothing is
// counted off, except for requests that have an offset from before there were cursors.
//
//	Begin: limit, cursor ──> Fit: how many rows go on it? ──> the room reads these ──> Close: entries, next cursor
//
// # What holds
//
//   - A page has at most MaxEntries entries and ends at MaxBytes, in the rows that are read as in the answer that is sent. The
//     first entry always goes on it, so every list comes to its end.
//   - No more is read than goes on the page: Fit asks the database for sizes alone, which it knows without reading the values.
//   - A cursor names its list. It is readable for whoever wants to read it, and grants nothing: what a page shows is decided
//     anew for each.
//   - A page that is full to the last entry of the list has no next one.
//
// # What happens on failure
//
// A cursor that this list cannot have given is refused by its field; everything else is the database's error.
package pages
