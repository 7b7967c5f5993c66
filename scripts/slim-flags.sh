#!/usr/bin/env bash
# Prints the Go tool's flags for a build without what only debuggers need: which takes a twentieth of the time.
#
# All that is built for tests has these flags, or those of scripts/race-flags.sh, because packages with the same flags are compiled
# only once: the linter, the program that tests run, the tests without the race detector and what they build themselves.
set -euo pipefail

echo "-ldflags=-s -gcflags=all=-dwarf=false"
