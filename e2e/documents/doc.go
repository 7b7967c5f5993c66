// Package documents holds the documents to the program: what README.md and docs/ show is run as it stands and must come
// out as shown, and their tables of routes, reasons and settings must be those of the code.
package documents
