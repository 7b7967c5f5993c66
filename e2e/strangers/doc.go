// Package strangers tests the server with what strangers send: misspelt words, wrong ids, malformed and enormous bodies,
// other people's names and messages, over both faces.
//
// Each attempt must end in a refusal of the documented form that leaks nothing, nothing may be written, and the server
// must go on. The attempts are tables, one file for each kind; attempt_test.go says what is checked of each.
package strangers
