// Package documents holds the documents to the program: what README.md and docs/ show is run as it stands and must come
// out as shown, their tables of routes, reasons, settings and rooms must be those of the code, and the files that they
// name must be there.
package documents
