// Package console tests, against running servers, who is signed in at the web console: with an API key, by a link, and by an identity
// provider; on every server of a database, and no longer than the session, its key and its provider allow.
package console
