// Package examples runs the programs of examples/ as their readers do: with the SDKs installed from their packages (a wheel, an
// npm tarball, an archive of a Go module), in a copy that sees nothing of the repository, by the commands that
// examples/README.md gives. They must print what stands there.
//
// Installations are kept in .cache until a package or a pin changes (scripts/examples-env.sh).
package examples
