// Package console has the pages of the web console: a program that runs in a browser and calls the server as anybody could. It knows no calls
// and no rooms; the server puts it beside the API.
//
// The sources are in src, in TypeScript and Svelte. `make generate` builds dist of them, which is committed and becomes a part of the program,
// so that nobody needs Node.js to build the server. `make check-generated` notices when the two differ.
//
//	src/client    calls of the REST API and its event streams; nothing else speaks to the server
//	src/state     what more than one page knows: the address, who is signed in, whether the server is there
//	src/text      pure functions that make texts of values
//	src/parts     pieces that pages share
//	src/pages     a folder for each page
//	src/shell     what stands around the pages
//	test          tests of what is pure, for Node's own runner; e2e/console/browser has those that need a browser
//
// # What must hold
//
//  1. Whatever the console shows or does, anybody can do with the public API.
//  2. The page loads and calls nothing but its own server, and has no code in its markup; its Content-Security-Policy says so.
//  3. Words of others are text. No markup, no control character and no override of the direction takes effect in them.
//  4. The address has all state of a page, except drafts and what was chosen within the last seconds.
//  5. The files are small: compressed, at most 200 KiB altogether.
package console
