// Package accounts tests what one API key may store and hold, through a running server: that every method that stores something is charged
// for it, and that what a key holds is bounded (docs/growth.md).
package accounts
