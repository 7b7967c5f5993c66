// Package clients runs programs that ask a question and answer it with clients that others generate from the OpenAPI document: in
// TypeScript, Python and Java. The document must be good enough that their generators make clients that work, without a word of help.
//
// `make clients` generates the clients, which takes minutes the first time, and runs this package with the build tag `clients`.
package clients
