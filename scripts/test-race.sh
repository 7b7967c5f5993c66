#!/usr/bin/env bash
# Runs go test with the race detector and the arguments given.
#
#   scripts/test-race.sh [ARGUMENT...]
#
# The detector watches all Go code but SQLite's, which is C that a program has translated into Go. Its memory is not Go's, so
# the detector would find nothing there. But it would look at every access, and tests on SQLite would take several times as long.
set -euo pipefail

unwatched=()
for package in modernc.org/sqlite/lib modernc.org/libc... modernc.org/memory; do
  unwatched+=("-gcflags=$package=-race=false")
done
exec go test -race "${unwatched[@]}" "$@"
