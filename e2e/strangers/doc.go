// Package strangers tests the server with what strangers send, over both faces: misspelt words, wrong ids, malformed
// and enormous bodies, and other people's names and messages.
//
// Each attempt must end in a refusal of the documented form that leaks nothing. Nothing may be written, and the
// server must still work. The attempts are tables, one file for each kind; attempt_test.go defines what is checked
// for each attempt.
package strangers
