#!/usr/bin/env bash
# Prints the Go tool's flags for a build with the race detector, one a line, because one has a space.
#
# The detector watches all Go code except SQLite's, which a program has translated from C. SQLite's memory is not Go's, so the
# detector would find nothing there. But it would look at every access, and tests on SQLite would take almost twice as long. The parser of
# commands, which runs in one goroutine, regular expressions, which never change, and RSA's arithmetic are left out too. Tests parse
# hundreds of command lines and make many keys, and that took most of their time.
#
# Nothing that uses generic code of others may be added. The linker keeps one copy of what several packages instantiate, such as sync.Map. If
# that is a copy that the detector does not watch, it reports races where there are none.
#
# With the detector the compiler also checks at run time how code converts unsafe pointers. Nobody writes such code here, and the checks in
# the code of others took an eighth of the time of the tests that call a server.
set -euo pipefail

cd "$(dirname "$0")/.."
read -ra slim <<<"$(scripts/slim-flags.sh)"
printf '%s\n' -race "${slim[@]}" "-gcflags=all=-dwarf=false -d=checkptr=0"
for package in modernc.org/sqlite/lib modernc.org/libc... modernc.org/memory github.com/alecthomas/kong regexp... \
  crypto/internal/fips140/bigmod; do
  echo "-gcflags=$package=-race=false -dwarf=false"
done
