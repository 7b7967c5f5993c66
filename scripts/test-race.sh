#!/usr/bin/env bash
# Runs go test with the race detector and the given arguments.
#
#   scripts/test-race.sh [ARGUMENT...]
#
# The detector watches all Go code except SQLite's, which a program has translated from C. SQLite's memory is not Go's, so the
# detector would find nothing there. But it would look at every access, and tests on SQLite would take almost twice as long.
set -euo pipefail

unwatched=()
for package in modernc.org/sqlite/lib modernc.org/libc... modernc.org/memory; do
  unwatched+=("-gcflags=$package=-race=false")
done
exec go test -race "${unwatched[@]}" "$@"
