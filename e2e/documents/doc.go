// Package documents checks the documents against the program. It runs the examples in README.md and docs/ as they
// stand, and their output must be what the pages show. The tables of routes, reasons, settings and rooms must match
// the code, and the files that the pages name must exist.
package documents
