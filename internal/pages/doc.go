// Package pages cuts lists into pages: how many entries a page has, how large it is, and where the next one begins.
//
// # Model
//
// A list is a handful of statements over rows whose order never changes. A page begins after the key of the last entry of
// the page before, so entries that are added or removed meanwhile cause no other entry to repeat or to be left out. Only
// requests with an offset, which is older than cursors, skip rows by counting them.
//
//	Begin: limit, cursor ──> Fit: how many rows go on it? ──> the room reads these ──> Close: entries, next cursor
//
// # What holds
//
//   - A page has at most MaxEntries entries and at most MaxBytes bytes. The bound on bytes applies to the rows that are read
//     and to the answer that is sent. The first entry goes on the page whatever its size, so a client always reaches the end
//     of a list.
//   - Only rows that go on the page are read. Fit asks the database for their sizes, which it knows without reading values.
//   - A cursor names its list. Anyone can decode it, but it grants nothing: the server decides for each page what it shows.
//   - A full page that ends with the last entry of the list has no next page.
//
// # What happens on failure
//
// A cursor that this list cannot have returned is refused as a bad field; every other error comes from the database.
package pages
