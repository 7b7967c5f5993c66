// Package examples runs the programs of examples/ as their readers do: in a copy that sees nothing of the repository,
// with the SDKs installed from their packages (a wheel, an npm tarball, an archive of a Go module), and with the
// commands from examples/README.md. The programs must print what that page shows.
//
// Installations are kept in .cache until a package or a pin changes (scripts/examples-env.sh).
package examples
