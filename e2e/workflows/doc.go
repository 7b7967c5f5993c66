// Package workflows applies workflow files to running servers, on both engines: with both forms of the header,
// repeatedly, as dry runs, by several agents, while others work, and with calls that fail half-way. The tests compare
// everything that the server then has with what the file describes.
package workflows
