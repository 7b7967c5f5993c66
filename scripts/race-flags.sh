#!/usr/bin/env bash
# Prints the Go tool's flags for a build with the race detector.
#
# The detector watches all Go code except SQLite's, which a program has translated from C. SQLite's memory is not Go's, so the
# detector would find nothing there. But it would look at every access, and tests on SQLite would take almost twice as long. The parser of
# commands, which runs in one goroutine, regular expressions, which never change, and RSA's arithmetic are left out too. Tests parse
# hundreds of command lines and make many keys, and that took most of their time.
set -euo pipefail

flags=(-race "$("$(dirname "$0")/slim-flags.sh")")
for package in modernc.org/sqlite/lib modernc.org/libc... modernc.org/memory github.com/alecthomas/kong regexp... \
  crypto/internal/fips140/bigmod; do
  flags+=("-gcflags=$package=-race=false")
done
echo "${flags[*]}"
